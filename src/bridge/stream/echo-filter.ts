import type { Clock } from '../../core/clock.ts';
import type { OutputEvent } from '../output.ts';
import { hasGraphemes } from './graphemes.ts';
import { type ReadAhead, readAhead, stoppedBy } from './read-ahead.ts';

/** A shorter prompt, such as "Hello", may well begin an answer that means it. */
const SHORTEST_ECHO = 16;
const NAMES = ['', 'USER: ', 'User: '];
const HOLD_MS = 1000;
/** What an echo may be longer than the prompt: a name, blanks before and after it. */
const SLACK_UNITS = 64;

type Text = Extract<OutputEvent, { readonly kind: 'text' }>;

type Echo = {
  /** Whether the answer that begins so can still turn out to be an echo with something after it. */
  readonly isPossible: (opening: string) => boolean;
  /** What is said after the echo; nothing if there is none, or nothing after it. */
  readonly afterIt: (opening: string) => string | undefined;
  readonly promptUnits: number;
};

const plain = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ');

const withoutWords = (text: string, count: number): string => {
  const word = /\s*\S+\s*/y;
  for (let skipped = 0; skipped < count; skipped++) word.exec(text);
  return text.slice(word.lastIndex);
};

const echoOf = (promptWords: string): Echo | undefined => {
  const prompt = plain(promptWords).trim();
  if (!hasGraphemes(prompt, SHORTEST_ECHO)) return undefined;
  const variants = NAMES.map((name) => `${name}${prompt}`);
  return {
    isPossible(opening) {
      const start = plain(opening).trimStart();
      // What comes next may still change the last character that is no mark.
      const sure = start.replace(/\P{M}\p{M}*$/u, '');
      return variants.some((echo) => echo.startsWith(sure));
    },
    afterIt(opening) {
      const start = plain(opening).trimStart();
      const echo = variants.find((variant) => start.startsWith(`${variant} `));
      const rest = echo === undefined ? '' : withoutWords(opening, echo.split(' ').length);
      return rest === '' ? undefined : rest;
    },
    promptUnits: promptWords.length,
  };
};

/** What is left of a whole answer once the same was left out of it as of its stream. */
export const withoutEcho = (answer: string, promptWords: string): string =>
  echoOf(promptWords)?.afterIt(answer) ?? answer;

/** Reads the text that begins until it is clear whether it is an echo, or has been held for long enough. */
const openingOf = async (
  { id }: Text,
  { ahead, echo, clock }: { readonly ahead: ReadAhead<OutputEvent>; readonly echo: Echo; readonly clock: Clock },
): Promise<readonly Text[]> => {
  const held: Text[] = [];
  const endsAt = clock.now() + HOLD_MS;
  let opening = '';
  let lookAtUnits = 0;
  while (opening.length <= echo.promptUnits + SLACK_UNITS) {
    const first = ahead.first();
    if (first?.kind === 'text' && first.id === id) {
      ahead.drop();
      held.push(first);
      opening += first.text;
      // A long opening is not looked at for each word of it.
      if (opening.length < Math.min(lookAtUnits, echo.promptUnits)) continue;
      lookAtUnits = opening.length + Math.floor(opening.length / 16);
      if (echo.afterIt(opening) !== undefined || !echo.isPossible(opening)) return held;
    } else if (first !== undefined || ahead.isOver() || clock.now() >= endsAt) return held;
    else await ahead.more(endsAt);
  }
  return held;
};

/**
 * Leaves out what a model repeats of the prompt before it answers. Only the whole prompt at the very beginning counts, only
 * when it is long enough to be no accident, and never when nothing else is said. Holds an answer that begins like the prompt
 * for a second at most.
 */
export const withoutLeadingEcho = (
  sayings: AsyncIterable<OutputEvent>,
  promptWords: string,
  clock: Clock,
): AsyncGenerator<OutputEvent, void> => {
  const ahead = readAhead(sayings, { clock });
  async function* filtered(): AsyncGenerator<OutputEvent, void> {
    try {
      let echo = echoOf(promptWords);
      for (let first = await ahead.arrival(); first !== undefined; first = await ahead.arrival()) {
        if (echo !== undefined && first.kind === 'text') {
          const held = await openingOf(first, { ahead, echo, clock });
          if (ahead.isStopped()) return;
          const text = echo.afterIt(held.map((part) => part.text).join(''));
          echo = undefined;
          if (text === undefined) yield* held;
          else yield { ...first, text };
        } else {
          ahead.drop();
          yield first;
        }
      }
      ahead.throwFailure();
    } finally {
      ahead.stop();
    }
  }
  return stoppedBy(filtered(), ahead.stop);
};
