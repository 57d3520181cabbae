import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { MessagePage, ShownMessage } from '../../api/types.ts';
import { errorSentence, readParts } from '../../format/message-parts.ts';
import { costText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { MessageParts } from '../../parts/message-parts.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { Empty, Failure, Loading } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { createPages } from '../../state/pages.ts';
import { usePolling } from '../../state/resource-hook.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const words = texts.sessions;
const PER_PAGE = 30;
const POLL_MS = 2000;

const byId = (left: ShownMessage, right: ShownMessage): number => (left.info.id < right.info.id ? -1 : 1);

type MessageProps = { readonly message: ShownMessage; readonly agent: number };

const Message = ({ message: { info, parts }, agent }: MessageProps) => {
  const isPerson = info.role === 'user';
  const error = errorSentence(info.error);
  const shown = readParts(parts);
  return (
    <li class={`message ${isPerson ? 'from-person' : 'from-agent'}`}>
      <header class="message-head">
        <strong>{isPerson ? texts.messages.person : texts.messages.agent}</strong>
        {info.time?.created === undefined ? null : <Time at={info.time.created} />}
        {isPerson || info.modelID === undefined ? null : (
          <span class="muted">
            <SafeLine text={info.modelID} limit={80} />
          </span>
        )}
        {info.cost === undefined || info.cost === 0 ? null : <span class="muted">{costText(info.cost)}</span>}
        {isPerson || info.time?.completed !== undefined ? null : <Badge tone="warning">{words.writing}</Badge>}
      </header>
      <MessageParts parts={shown} agent={agent} />
      {shown.length === 0 && error === undefined && isPerson ? <SafeText text="" /> : null}
      {error === undefined ? null : (
        <p class="notice bad">
          <SafeLine text={error} limit={1000} />
        </p>
      )}
    </li>
  );
};

type SessionMessagesProps = {
  readonly agent: number;
  readonly path: string;
  /** Changes when the session has changed, or has come to rest; nothing before it is known. */
  readonly version: string | undefined;
  readonly isBusy: boolean;
};

/** The messages of a session: the newest first loaded, earlier ones on request, and what a running turn adds as it comes. */
export const SessionMessages = ({ agent, path, version, isBusy }: SessionMessagesProps) => {
  const pages = useMemo(
    () =>
      createPages<ShownMessage>({
        fetchPage: async (before, abort) => {
          const query = new URLSearchParams({ limit: String(PER_PAGE) });
          if (before !== undefined) query.set('before', before);
          const { messages, next } = await api.get<MessagePage>(`${path}/messages?${query}`, abort);
          return { items: messages, next };
        },
        keyOf: ({ info }) => info.id,
        join: (known, added) => [...known, ...added].sort(byId),
      }),
    [path],
  );
  useEffect(() => {
    void pages.refresh();
    return pages.stop;
  }, [pages]);
  const loadedVersion = useRef(version);
  useEffect(() => {
    // The first state of the session is as old as the first messages.
    if (loadedVersion.current !== undefined) void pages.refresh();
    loadedVersion.current = version;
  }, [version]);
  usePolling(pages.refresh, pages.isLoading, isBusy ? POLL_MS : undefined);
  const items = pages.items.value;
  const failure = pages.failure.value;
  return (
    <section aria-label={words.messages}>
      {failure === undefined ? null : <Failure failure={failure} onRetry={() => void pages.refresh()} />}
      {pages.hasMore.value ? (
        <p class="more">
          <Button isSmall isBusy={pages.isLoading.value} onClick={() => void pages.loadMore()}>
            {words.earlier}
          </Button>
        </p>
      ) : null}
      {items === undefined ? (
        failure === undefined ? (
          <Loading />
        ) : null
      ) : items.length === 0 ? (
        <Empty title={words.noMessages} />
      ) : (
        <ol class="messages">
          {items.map((message) => (
            <Message key={message.info.id} message={message} agent={agent} />
          ))}
        </ol>
      )}
    </section>
  );
};
