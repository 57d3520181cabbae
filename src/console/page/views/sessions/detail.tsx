import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../../api/request.ts';
import type { MessagePage, SessionSummary } from '../../api/types.ts';
import { costText, countText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, failureText, Loaded } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { createResource, type Resource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { navigate } from '../../state/route.ts';
import { showToast } from '../../state/toasts.ts';
import { api, isAdmin } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { MessageCard } from '../messages/message.tsx';

const words = texts.sessions;

const POLL_MS = 3000;

const Facts = ({ session }: { readonly session: SessionSummary }) => (
  <dl class="facts">
    <div>
      <dt>{words.facts.created}</dt>
      <dd>
        <Time at={session.created} />
      </dd>
    </div>
    <div>
      <dt>{words.facts.updated}</dt>
      <dd>
        <Time at={session.updated} />
      </dd>
    </div>
    <div>
      <dt>{words.facts.tokens}</dt>
      <dd>{words.inAndOut(countText(session.tokens.input), countText(session.tokens.output))}</dd>
    </div>
    <div>
      <dt>{words.facts.cost}</dt>
      <dd>{costText(session.cost)}</dd>
    </div>
    {session.parent === undefined ? null : (
      <div>
        <dt>{words.facts.parent}</dt>
        <dd>
          <a href={`/sessions/${session.agent}/${encodeURIComponent(session.parent)}`}>{words.openParent}</a>
        </dd>
      </div>
    )}
  </dl>
);

type ActionsProps = { readonly address: string; readonly session: SessionSummary; readonly onChange: () => void };

const Actions = ({ address, session, onChange }: ActionsProps) => {
  const isAsking = useSignal(false);
  const isBusy = useSignal(false);
  const run = async (work: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    try {
      await work();
    } catch (error) {
      showToast(error instanceof ApiError ? failureText(error) : String(error), 'bad');
    }
    isBusy.value = false;
  };
  const abort = (): Promise<void> =>
    run(async () => {
      await api.send('POST', `${address}/abort`);
      showToast(words.aborted, 'good');
      onChange();
    });
  const remove = (): Promise<void> =>
    run(async () => {
      await api.send('DELETE', address);
      showToast(words.deleted, 'good');
      navigate('/sessions');
    });
  return (
    <>
      <a class="button small" href={`${address}/export`} download>
        {words.export}
      </a>
      {isAdmin.value && session.status !== undefined && session.status !== 'idle' ? (
        <Button isSmall isBusy={isBusy.value} onClick={() => void abort()}>
          {words.abort}
        </Button>
      ) : null}
      {isAdmin.value ? (
        <Button
          isSmall
          kind="danger"
          onClick={() => {
            isAsking.value = true;
          }}
        >
          {words.delete}
        </Button>
      ) : null}
      {isAsking.value ? (
        <Dialog
          title={words.deleteTitle}
          onClose={() => {
            isAsking.value = false;
          }}
        >
          <p>{words.deleteHint}</p>
          <footer class="dialog-actions">
            <Button
              onClick={() => {
                isAsking.value = false;
              }}
            >
              {texts.common.cancel}
            </Button>
            <Button kind="danger" isBusy={isBusy.value} onClick={() => void remove()}>
              {words.delete}
            </Button>
          </footer>
        </Dialog>
      ) : null}
    </>
  );
};

const Messages = ({ messages }: { readonly messages: Resource<MessagePage> }) => (
  <Loaded resource={messages}>
    {(page) =>
      page.messages.length === 0 ? (
        <Empty title={words.noMessages} />
      ) : (
        <div class="messages">
          {page.next === undefined ? null : <p class="muted">{words.olderLeftOut}</p>}
          {page.messages.map((message) => (
            <MessageCard key={message.info.id} message={message} />
          ))}
        </div>
      )
    }
  </Loaded>
);

/** One session: what it cost, its messages with every tool call, and what can be done with it. */
export const SessionDetail = ({ agent, id }: { readonly agent: string; readonly id: string }) => {
  const address = `/api/sessions/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`;
  const [session, messages] = useMemo(
    () => [
      createResource((abort) => api.get<SessionSummary>(address, abort)),
      createResource((abort) => api.get<MessagePage>(`${address}/messages?limit=200`, abort)),
    ],
    [address],
  );
  useResource(session);
  useResource(messages);
  const isRunning = session.value.value?.status !== undefined && session.value.value.status !== 'idle';
  const loadBoth = (): void => {
    void session.load();
    void messages.load();
  };
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(loadBoth, POLL_MS);
    return () => clearInterval(timer);
  }, [isRunning, address]);
  const known = session.value.value;
  return (
    <>
      <PageHead
        title={
          known === undefined ? words.session : <SafeLine text={known.title || texts.approvals.untitled} limit={200} />
        }
      >
        {known === undefined ? null : <Actions address={address} session={known} onChange={loadBoth} />}
      </PageHead>
      <p class="crumbs">
        <a href="/sessions">{words.title}</a> <span class="muted">/</span>{' '}
        <code>
          <SafeLine text={id} limit={80} />
        </code>{' '}
        {isRunning && known?.status !== undefined ? <Badge tone="warning">{words.states[known.status]}</Badge> : null}
      </p>
      <Loaded resource={session}>{(value) => <Facts session={value} />}</Loaded>
      <section>
        <h2>{words.messages}</h2>
        <Messages messages={messages} />
      </section>
    </>
  );
};
