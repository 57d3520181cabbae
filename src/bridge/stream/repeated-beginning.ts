import type { OutputEvent } from '../output.ts';
import type { PolledOutput } from './polled-output.ts';

/** A shorter beginning, such as "[", may well be followed by itself. In UTF-16 units. */
const SHORTEST_UNITS = 16;

type Text = Extract<OutputEvent, { readonly kind: 'text' }>;

/**
 * Reads how far an answer repeats its beginning: `repeating` so far, `repeated` with the text behind it, or `other`. White space before
 * either makes no difference.
 */
const createRepetition = (given: string) => {
  const beginning = given.trimStart();
  let matched = 0;
  return (
    text: string,
  ): { readonly state: 'repeating' | 'other' } | { readonly state: 'repeated'; readonly rest: string } => {
    const more = matched === 0 ? text.trimStart() : text;
    const left = beginning.length - matched;
    if (more.length >= left)
      return more.startsWith(beginning.slice(matched))
        ? { state: 'repeated', rest: more.slice(left) }
        : { state: 'other' };
    if (!beginning.startsWith(more, matched)) return { state: 'other' };
    matched += more.length;
    return { state: 'repeating' };
  };
};

/**
 * Leaves out the beginning of an answer that the client has written itself, where the model repeats the whole of it before it goes on.
 * An answer that begins like it is held until that is clear.
 */
export const withoutRepeatedBeginning = (output: PolledOutput, beginning: string): PolledOutput => {
  if (beginning.length < SHORTEST_UNITS) return output;
  const read = createRepetition(beginning);
  const held: Text[] = [];
  let ready: readonly OutputEvent[] = [];
  let isClear = false;
  const release = (...events: readonly OutputEvent[]): void => {
    isClear = true;
    ready = events;
  };
  const take = (event: Text): void => {
    const found = read(event.text);
    held.push(event);
    if (found.state === 'other') release(...held);
    else if (found.state === 'repeated') release(...(found.rest === '' ? [] : [{ ...event, text: found.rest }]));
  };
  const isFirstText = (event: OutputEvent): event is Text =>
    event.kind === 'text' && (held[0] === undefined || held[0].id === event.id);
  const readBeginning = (): OutputEvent | undefined => {
    while (!isClear) {
      const event = output.poll();
      if (event === undefined) return undefined;
      if (isFirstText(event)) take(event);
      else if (held.length === 0) return event;
      else release(...held, event);
    }
    return undefined;
  };
  return {
    ...output,
    poll() {
      const early = readBeginning();
      if (early !== undefined || !isClear) return early;
      const [first, ...others] = ready;
      ready = others;
      return first ?? output.poll();
    },
    isOver: () => ready.length === 0 && output.isOver(),
  };
};
