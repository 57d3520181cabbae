import { useEffect, useRef } from 'preact/hooks';
import type { SessionDetail } from '../../../protocol.ts';
import { plainLine } from '../../format/hostile.ts';
import { Button } from '../../parts/button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Empty, Failure, Loading, showFailure } from '../../parts/states.tsx';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { navigate, pathPieces } from '../../state/route.ts';
import { showToast } from '../../state/toasts.ts';
import { api, mayDecide, missingPart } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { Composer } from './composer.tsx';
import {
  chosenModel,
  hasEarlier,
  newConversation,
  resumeConversation,
  resumeRemembered,
  resuming,
  turns,
} from './conversation.ts';
import { TurnView } from './turn.tsx';

const words = texts.chat;

type Models = { readonly models: readonly { readonly id: string; readonly name?: string }[] };
const models = createResource((abort) => api.get<Models>('/api/chat/models', abort));

const ModelChoice = () => {
  const known = models.value.value?.models ?? [];
  if (known.length < 2) return null;
  return (
    <label class="model-choice">
      <span class="label">{words.model}</span>
      <select
        class="plain"
        value={chosenModel.value ?? known[0]?.id}
        onChange={(event) => {
          chosenModel.value = event.currentTarget.value;
        }}
      >
        {known.map(({ id, name }) => (
          <option key={id} value={id}>
            {plainLine(name ?? id, 80)}
          </option>
        ))}
      </select>
    </label>
  );
};

const NEAR_END_PX = 120;

/** Keeps the newest words in sight, unless the reader has scrolled up to earlier ones. */
const useScrollToEnd = (): void => {
  const wasNearEnd = useRef(true);
  useEffect(() => {
    const note = (): void => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      wasNearEnd.current = scrollHeight - clientHeight - scrollTop < NEAR_END_PX;
    };
    addEventListener('scroll', note, { passive: true });
    return () => removeEventListener('scroll', note);
  }, []);
  const all = turns.value;
  useEffect(() => {
    if (all.length > 0 && wasNearEnd.current) scrollTo(0, document.documentElement.scrollHeight);
  }, [all]);
};

const Announcement = () => {
  const last = turns.value.at(-1);
  return (
    <p class="visually-hidden" role="status">
      {last === undefined ? '' : words.states[last.state]}
    </p>
  );
};

/** `/chat/0/ses_1` continues the chat of a session, if it is one of this account. */
const openSession = async (agent: string, id: string): Promise<void> => {
  try {
    const session = await api.get<SessionDetail>(`/api/sessions/${agent}/${encodeURIComponent(id)}`);
    if (session.conversation === undefined) showToast(words.notFound, 'warning');
    else await resumeConversation(session.conversation);
  } catch (error) {
    showFailure(error);
  }
};

/** The messages from before the page was reloaded, or of the session that the path names. */
const useEarlierChat = (): void => {
  const [, agent, session] = pathPieces.value;
  useEffect(() => {
    if (!mayDecide.peek()) return;
    if (agent === undefined || session === undefined) void resumeRemembered();
    else {
      navigate('/chat', true);
      void openSession(agent, session);
    }
  }, []);
};

const Resuming = () => {
  if (resuming.value === undefined) return null;
  if (resuming.value === 'looking') return <Loading />;
  return <Failure failure={resuming.value} onRetry={() => void resumeRemembered()} />;
};

const Earlier = () => {
  const session = turns.value[0]?.session;
  if (!hasEarlier.value || session === undefined) return null;
  return (
    <p class="muted">
      <a href={`/sessions/${session.agent}/${encodeURIComponent(session.id)}`}>{words.earlier}</a>
    </p>
  );
};

const WithoutSessions = () => {
  const missing = missingPart('sessions');
  if (missing === undefined) return null;
  return (
    <p class="muted">
      {words.withoutSessions} {missing}.
    </p>
  );
};

/** A conversation with the agent through the bridge. */
export const ChatView = () => {
  useScrollToEnd();
  useResource(models);
  useEarlierChat();
  return (
    <div class="chat">
      <PageHead title={words.title} intro={words.intro}>
        <ModelChoice />
        {turns.value.length === 0 && resuming.value === undefined ? null : (
          <Button isSmall onClick={newConversation}>
            {words.newChat}
          </Button>
        )}
      </PageHead>
      {models.failure.value === undefined ? null : (
        <Failure failure={models.failure.value} onRetry={() => void models.load()} />
      )}
      <WithoutSessions />
      <Announcement />
      <Resuming />
      <Earlier />
      {turns.value.length === 0 && resuming.value === undefined ? (
        <Empty title={words.empty} {...(mayDecide.value ? { hint: words.emptyHint } : {})} />
      ) : null}
      <ol class="messages">
        {turns.value.map((turn) => (
          <TurnView key={turn.id} turn={turn} />
        ))}
      </ol>
      {mayDecide.value ? <Composer /> : <p class="muted">{words.mayNot}</p>}
    </div>
  );
};
