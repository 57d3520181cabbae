import type { Clock } from '../../core/clock.ts';
import { withSingleBlanks } from '../../core/text.ts';
import { runAtOnce } from '../../core/time-slices.ts';
import type { OutputEvent } from '../output.ts';
import { hasGraphemes } from './graphemes.ts';
import type { PolledOutput } from './polled-output.ts';

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

/** Holds the beginning of an answer until it is clear whether that is an echo. */
const createOpening = (echo: EchoMatcher) => {
  const held: Text[] = [];
  let opening = '';
  let nextCheckUnits = 0;
  const isClear = (): boolean => {
    if (opening.length > echo.promptUnits + SLACK_UNITS) return true;
    // A long opening is not checked after each word.
    if (opening.length < Math.min(nextCheckUnits, echo.promptUnits)) return false;
    nextCheckUnits = opening.length + Math.floor(opening.length / 16);
    return echo.textAfter(opening) !== undefined || !echo.isPossible(opening);
  };
  return {
    isEmpty: () => held.length === 0,
    /** Whether an event continues the text. */
    isMore: (event: OutputEvent): event is Text =>
      event.kind === 'text' && (held[0] === undefined || event.id === held[0].id),
    /** Returns whether it is clear now. */
    add(event: Text): boolean {
      held.push(event);
      opening += event.text;
      return isClear();
    },
    /** What was held, without an echo. */
    release(): readonly OutputEvent[] {
      const text = echo.textAfter(opening);
      return held[0] === undefined || text === undefined ? held : [{ ...held[0], text }];
    },
  };
};

/**
 * Leaves out the prompt where a model repeats it before it answers: only the whole prompt at the very beginning, only if it is
 * long enough to be no accident, and never if nothing else follows. Holds an answer that begins like the prompt
 * for a second at most.
 */
export const filterLeadingEcho = (output: PolledOutput, promptText: string, clock: Clock): PolledOutput => {
  const echo = createEchoMatcher(promptText);
  if (echo === undefined) return output;
  const opening = createOpening(echo);
  let isReleased = false;
  let ready: OutputEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  let endsAt = Number.POSITIVE_INFINITY;
  let cancelTimer = (): void => {};
  let notify = (): void => {};
  output.onChange(() => notify());
  const release = (...after: readonly OutputEvent[]): void => {
    isReleased = true;
    cancelTimer();
    ready = [...opening.release(), ...after];
  };
  const hold = (event: Text): void => {
    if (opening.isEmpty()) {
      endsAt = clock.now() + HOLD_MS;
      cancelTimer = clock.after(HOLD_MS, () => notify());
    }
    if (opening.add(event)) release();
  };
  /** Reads on until there is something to give. */
  const readOpening = (): void => {
    while (!isReleased && ready.length === 0) {
      const event = output.poll();
      if (event === undefined) {
        if (output.isOver() || clock.now() >= endsAt) release();
        return;
      }
      if (opening.isMore(event)) hold(event);
      else if (opening.isEmpty()) ready.push(event);
      else release(event);
    }
  };
  return {
    poll() {
      if (!isReleased && ready.length === 0) {
        try {
          readOpening();
        } catch (error) {
          failure = { error };
          release();
        }
      }
      const first = ready.shift();
      if (first === undefined && failure !== undefined) throw failure.error;
      return first ?? (isReleased ? output.poll() : undefined);
    },
    isOver: () => output.isOver() && ready.length === 0 && failure === undefined,
    onChange(listener) {
      notify = listener;
    },
    stop() {
      isReleased = true;
      ready = [];
      cancelTimer();
      output.stop();
    },
  };
};
