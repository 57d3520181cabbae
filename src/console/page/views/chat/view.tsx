import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Empty, Failure } from '../../parts/states.tsx';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { api, mayDecide } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { Composer } from './composer.tsx';
import { chosenModel, newConversation, turns } from './conversation.ts';
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
            {name ?? id}
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

/** A conversation with the agent through the bridge. */
export const ChatView = () => {
  useScrollToEnd();
  useResource(models);
  return (
    <div class="chat">
      <PageHead title={words.title} intro={words.intro}>
        <ModelChoice />
        {turns.value.length === 0 ? null : (
          <Button isSmall onClick={newConversation}>
            {words.newChat}
          </Button>
        )}
      </PageHead>
      {models.failure.value === undefined ? null : (
        <Failure failure={models.failure.value} onRetry={() => void models.load()} />
      )}
      <Announcement />
      {turns.value.length === 0 ? (
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
