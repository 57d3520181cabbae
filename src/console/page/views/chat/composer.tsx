import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { texts } from '../../texts.ts';
import { isAnswering, resuming, sendMessage, stopAnswer, turns } from './conversation.ts';

const words = texts.chat;
const LONGEST = 200_000;

/** Kept while another page is shown. */
const draft = signal('');

/** Where the next message is written. Enter sends it, with Shift it begins a new line. */
export const Composer = () => {
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = isAnswering(turns.value);
  const isWaiting = turns.value.at(-1)?.state === 'waiting';
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);
  const send = (): void => {
    const text = draft.value.trim();
    if (text === '' || isBusy || resuming.value !== undefined) return;
    draft.value = '';
    void sendMessage(text);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label class="visually-hidden" for="chat-message">
        {words.message}
      </label>
      <textarea
        ref={field}
        id="chat-message"
        class="plain"
        rows={3}
        maxLength={LONGEST}
        placeholder={words.placeholder}
        aria-describedby="chat-hint"
        value={draft}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-actions">
        <p id="chat-hint" class="muted">
          {isWaiting ? words.waitingHint : words.hint}
        </p>
        {isBusy ? (
          <Button onClick={stopAnswer}>{words.stop}</Button>
        ) : (
          <Button kind="primary" type="submit" isDisabled={draft.value.trim() === '' || resuming.value !== undefined}>
            {words.send}
          </Button>
        )}
      </div>
    </form>
  );
};
