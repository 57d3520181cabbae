import type { Clock } from '../../core/clock.ts';
import { createPace, type PaceSettings } from '../pace.ts';
import type { Saying } from '../turn/output.ts';
import { createGrowingText, type Prospect } from './graphemes.ts';
import { readAhead, stoppedBy } from './read-ahead.ts';

/** The last grapheme of a text goes out when nothing has come for so long that could join it. */
const HELD_MS = 40;

export type PacingNeeds = PaceSettings & { readonly clock: Clock };

/**
 * The same sayings with their texts in pieces of `chunkSize` graphemes, one every `delayMs`. With a size of 0 they go out as
 * they come. This smooths and never slows: no text is kept for a second, and pieces grow as far as that takes. Ends without a
 * word when `signal` aborts.
 */
export const paced = (
  sayings: AsyncIterable<Saying>,
  { clock, chunkSize, delayMs }: PacingNeeds,
  signal: AbortSignal,
): AsyncGenerator<Saying, void> => {
  const pace = createPace({ chunkSize, delayMs: chunkSize === 0 ? 0 : delayMs });
  const text = createGrowingText();
  let id = '';
  let cameAt = 0;
  const ahead = readAhead(sayings, {
    clock,
    onItem(saying) {
      if (saying.kind !== 'text') return;
      cameAt = clock.now();
      pace.came(saying.text.length, cameAt);
    },
  });
  /** Joins what has come of one text. Returns what comes after it. */
  const gather = (): Saying | undefined => {
    for (let first = ahead.first(); ; first = ahead.first()) {
      if (first?.kind !== 'text' || (text.units() > 0 && first.id !== id)) return first;
      id = first.id;
      text.add(first.text);
      ahead.drop();
    }
  };
  const prospectAt = (now: number, isFollowed: boolean): Prospect => {
    if (isFollowed || ahead.isOver()) return 'nothing';
    return now - cameAt < HELD_MS ? 'more' : 'for-now';
  };
  async function* tell(): AsyncGenerator<Saying, void> {
    try {
      if (signal.aborted) return;
      signal.addEventListener('abort', ahead.stop, { once: true });
      for (;;) {
        const follower = gather();
        if (ahead.isStopped()) return;
        if (text.units() === 0) {
          if (follower !== undefined) {
            ahead.drop();
            yield follower;
          } else if (ahead.isOver()) return ahead.throwFailure();
          else {
            pace.ranDry();
            await ahead.more();
          }
          continue;
        }
        const now = clock.now();
        const readyAt = pace.readyAt(now);
        if (now < readyAt) {
          await ahead.until(readyAt);
          continue;
        }
        const prospect = prospectAt(now, follower !== undefined);
        const piece = chunkSize === 0 ? text.takePart(prospect) : text.take(pace.portion(now), prospect);
        if (piece === '') {
          pace.ranDry();
          await ahead.more(prospect === 'more' ? cameAt + HELD_MS : undefined);
          continue;
        }
        pace.went(piece.length, now);
        yield { kind: 'text', id, text: piece };
      }
    } finally {
      signal.removeEventListener('abort', ahead.stop);
      ahead.stop();
    }
  }
  return stoppedBy(tell(), ahead.stop);
};
