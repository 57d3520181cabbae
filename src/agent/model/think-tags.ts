import type { ModelEvent } from './types.ts';

const OPENING = '<think>';
const CLOSING = '</think>';

/** How many characters at the end of a text may be the beginning of a tag. */
const overlap = (text: string, mark: string): number => {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (mark.startsWith(text.slice(-length))) return length;
  }
  return 0;
};

/** Turns a `think` section at the beginning of a model's text into reasoning. A section anywhere else stays text. */
export async function* splitThinking(source: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
  let state: 'before' | 'thinking' | 'after' = 'before';
  let held = '';
  const pieces = function* (delta: string): Generator<ModelEvent> {
    held += delta;
    if (state === 'before') {
      const text = held.trimStart();
      if (text.startsWith(OPENING)) {
        state = 'thinking';
        held = text.slice(OPENING.length);
      } else if (!OPENING.startsWith(text)) state = 'after';
    }
    if (state === 'thinking') {
      const end = held.indexOf(CLOSING);
      const sure = end === -1 ? held.length - overlap(held, CLOSING) : end;
      if (sure > 0) yield { kind: 'reasoning', delta: held.slice(0, sure) };
      held = held.slice(end === -1 ? sure : end + CLOSING.length);
      if (end !== -1) {
        state = 'after';
        held = held.replace(/^\s+/, '');
      }
    }
    if (state === 'after' && held !== '') {
      yield { kind: 'text', delta: held };
      held = '';
    }
  };
  const rest = function* (): Generator<ModelEvent> {
    if (held !== '') yield { kind: state === 'thinking' ? 'reasoning' : 'text', delta: held };
    held = '';
  };
  for await (const event of source) {
    if (event.kind === 'text') yield* pieces(event.delta);
    else {
      yield* rest();
      yield event;
    }
  }
  yield* rest();
}
