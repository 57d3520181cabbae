import type { Clock } from '../../core/clock.ts';
import { withSingleBlanks } from '../../core/text.ts';
import { runAtOnce } from '../../core/time-slices.ts';
import type { OutputEvent } from '../output.ts';
import { hasGraphemes } from './graphemes.ts';
import { type ReadAhead, readAhead, stopOnReturn } from './read-ahead.ts';

/** A shorter prompt, such as "Hello", may well begin an answer that means it. */
const SHORTEST_ECHO = 16;
/** In UTF-16 units. No model repeats a longer prompt, and comparing it with an answer would take too long. */
const LONGEST_ECHO = 65_536;
const ROLE_PREFIXES = ['', 'USER: ', 'User: '];
const HOLD_MS = 1000;
/** By how much an echo may be longer than the prompt: a role prefix, and white space before and after it. */
const SLACK_UNITS = 64;

type Text = Extract<OutputEvent, { readonly kind: 'text' }>;

type EchoMatcher = {
  /** Whether an answer with this beginning can still turn out to be an echo with more text after it. */
  readonly isPossible: (opening: string) => boolean;
  /** The text after the echo; undefined if there is no echo, or nothing after it. */
  readonly textAfter: (opening: string) => string | undefined;
  readonly promptUnits: number;
};

const normalizeText = (text: string): string => runAtOnce(withSingleBlanks(text));

const skipWords = (text: string, count: number): string => {
  const word = /\s*\S+\s*/y;
  for (let skipped = 0; skipped < count; skipped++) word.exec(text);
  return text.slice(word.lastIndex);
};

const createEchoMatcher = (promptText: string): EchoMatcher | undefined => {
  if (promptText.length > LONGEST_ECHO) return undefined;
  const prompt = normalizeText(promptText).trim();
  if (!hasGraphemes(prompt, SHORTEST_ECHO)) return undefined;
  const variants = ROLE_PREFIXES.map((name) => `${name}${prompt}`);
  // White space may make an echo longer than the prompt, and a whole answer is much longer than that.
  const readUnits = 2 * promptText.length + 16 * SLACK_UNITS;
  let last = { opening: '', start: '' };
  /** Both functions are called with the same opening, one after the other. */
  const startOf = (opening: string): string => {
    if (last.opening !== opening) last = { opening, start: normalizeText(opening.slice(0, readUnits)).trimStart() };
    return last.start;
  };
  return {
    isPossible(opening) {
      const start = startOf(opening);
      // Combining marks that come next may still change the last character.
      const sure = start.replace(/\P{M}\p{M}*$/u, '');
      return variants.some((echo) => echo.startsWith(sure));
    },
    textAfter(opening) {
      const start = startOf(opening);
      const echo = variants.find((variant) => start.startsWith(`${variant} `));
      const rest = echo === undefined ? '' : skipWords(opening, echo.split(' ').length);
      return rest === '' ? undefined : rest;
    },
    promptUnits: promptText.length,
  };
};

/** A whole answer without what `filterLeadingEcho` leaves out of its stream. */
export const removeEcho = (answer: string, promptText: string): string =>
  createEchoMatcher(promptText)?.textAfter(answer) ?? answer;

/** Reads the beginning of a text until it is clear whether it is an echo, or the time to hold it back is over. */
const readOpening = async (
  { id }: Text,
  { ahead, echo, clock }: { readonly ahead: ReadAhead<OutputEvent>; readonly echo: EchoMatcher; readonly clock: Clock },
): Promise<readonly Text[]> => {
  const held: Text[] = [];
  const endsAt = clock.now() + HOLD_MS;
  let opening = '';
  let nextCheckUnits = 0;
  while (opening.length <= echo.promptUnits + SLACK_UNITS) {
    const first = ahead.first();
    if (first?.kind === 'text' && first.id === id) {
      ahead.drop();
      held.push(first);
      opening += first.text;
      // A long opening is not checked after each word.
      if (opening.length < Math.min(nextCheckUnits, echo.promptUnits)) continue;
      nextCheckUnits = opening.length + Math.floor(opening.length / 16);
      if (echo.textAfter(opening) !== undefined || !echo.isPossible(opening)) return held;
    } else if (first !== undefined || ahead.isOver() || clock.now() >= endsAt) return held;
    else await ahead.more(endsAt);
  }
  return held;
};

/**
 * Leaves out the prompt where a model repeats it before it answers: only the whole prompt at the very beginning, only if it is
 * long enough to be no accident, and never if nothing else follows. Holds an answer that begins like the prompt
 * for a second at most.
 */
export const filterLeadingEcho = (
  output: AsyncIterable<OutputEvent>,
  promptText: string,
  clock: Clock,
): AsyncGenerator<OutputEvent, void> => {
  const ahead = readAhead(output, { clock });
  async function* filtered(): AsyncGenerator<OutputEvent, void> {
    try {
      let echo = createEchoMatcher(promptText);
      for (let first = await ahead.waitForFirst(); first !== undefined; first = await ahead.waitForFirst()) {
        if (echo !== undefined && first.kind === 'text') {
          const held = await readOpening(first, { ahead, echo, clock });
          if (ahead.isStopped()) return;
          const text = echo.textAfter(held.map((part) => part.text).join(''));
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
  return stopOnReturn(filtered(), ahead.stop);
};
