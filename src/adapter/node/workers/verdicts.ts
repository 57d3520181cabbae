import type { Clock } from '../../../core/clock.ts';
import { createVerdictCache, type SharedVerdicts } from '../../../gateway/judge/cache.ts';
import type { CategoryScores } from '../../../gateway/policy/categories.ts';

/** Each number of hundredths as two digits of base 16. */
const CODES = Array.from({ length: 101 }, (_, hundredths) => hundredths.toString(16).padStart(2, '0'));
const SCORES = /^(?:[0-5][0-9a-f]|6[0-4])+$/;

/**
 * A verdict as one text, `<digest> <scores in hundredths>`, which costs a fraction of what an array of numbers does on its way.
 * Undefined for scores that are no hundredths: these are not shared.
 */
export const packVerdict = (key: string, scores: CategoryScores): string | undefined => {
  let packed = `${key} `;
  for (const score of scores) {
    const hundredths = Math.round(score * 100);
    const code = CODES[hundredths];
    if (code === undefined || hundredths / 100 !== score) return undefined;
    packed += code;
  }
  return packed;
};

/** The scores of a packed verdict, exactly `count` of them. Undefined for anything else: no score is ever made up. */
export const unpackScores = (packed: string, count: number): CategoryScores | undefined =>
  packed.length === 2 * count && SCORES.test(packed)
    ? packed.match(/../g)?.map((code) => Number.parseInt(code, 16) / 100)
    : undefined;

/** A verdict is sent at once, and those that follow within this time together: a message costs more than what is in it. */
const SEND_EVERY_MS = 250;
/** No more are sent together, 100 a second from each process: a judge that is quicker is asked again at less cost. */
const SEND_LIMIT = 25;

type TransferNeeds = {
  readonly clock: Clock;
  readonly lifetimeMs: number;
  /** How many verdicts of others are kept. 0 sends none either. */
  readonly limit: number;
  readonly send: (packed: readonly string[]) => void;
};

type VerdictTransfer = SharedVerdicts & { readonly receive: (packed: readonly string[]) => void };

/** Sends the verdicts of this process to others, and keeps theirs, each for `lifetimeMs` from its arrival, a moment after it was given. */
export const createVerdictTransfer = ({ clock, lifetimeMs, limit, send }: TransferNeeds): VerdictTransfer => {
  // Packed: most of them are never used.
  const received = createVerdictCache<string>(limit, lifetimeMs, clock.now);
  const isOff = limit === 0 || lifetimeMs === 0;
  let unsent: string[] = [];
  let isResting = false;
  const sendAll = (): void => {
    isResting = unsent.length > 0;
    if (!isResting) return;
    send(unsent);
    unsent = [];
    clock.after(SEND_EVERY_MS, sendAll);
  };
  return {
    async find(key, count) {
      const found = received.findLimited(key);
      const scores = found === undefined ? undefined : unpackScores(found.scores, count);
      return scores === undefined || found === undefined ? undefined : { scores, leftMs: found.leftMs };
    },
    store(key, scores) {
      const packed = isOff || unsent.length >= SEND_LIMIT ? undefined : packVerdict(key, scores);
      if (packed === undefined) return;
      unsent.push(packed);
      if (!isResting) sendAll();
    },
    receive(packed) {
      for (const verdict of packed) {
        const space = verdict.indexOf(' ');
        received.store(verdict.slice(0, space), verdict.slice(space + 1));
      }
    },
  };
};
