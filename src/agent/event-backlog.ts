import { isRecord } from '../core/record.ts';
import type { PlacedEvent } from './store/store.ts';

/** What a slow reader may lag behind. Its stream ends then, and it comes back with the last id that it has seen. */
const LIMIT_EVENTS = 10_000;
const LIMIT_CHARS = 16 * 1024 * 1024;
const PER_VALUE_CHARS = 16;

type Waiting = { readonly placed: PlacedEvent; readonly chars: number };

/** About how long a value is as text. Texts are not looked into, so that this costs nothing beside what is done with it. */
const charsOf = (value: unknown): number => {
  if (typeof value === 'string') return PER_VALUE_CHARS + value.length;
  const held = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  return held.reduce<number>((sum, one) => sum + charsOf(one), PER_VALUE_CHARS);
};

/**
 * Events that wait for one reader. One that finds no room leaves a gap, so none is taken in after it; a single one is never
 * too large.
 */
export const createBacklog = () => {
  let coming: Waiting[] = [];
  /** The oldest of them, the next one last: so each can be taken off, and is let go then. */
  let leaving: Waiting[] = [];
  let chars = 0;
  let isFull = false;
  return {
    add(placed: PlacedEvent): void {
      const count = coming.length + leaving.length;
      const more = charsOf(placed.event);
      isFull ||= count >= LIMIT_EVENTS || (count > 0 && chars + more > LIMIT_CHARS);
      if (isFull) return;
      coming.push({ placed, chars: more });
      chars += more;
    },
    /** The next one, if one is there. */
    take(): PlacedEvent | undefined {
      if (leaving.length === 0) {
        leaving = coming.reverse();
        coming = [];
      }
      const next = leaving.pop();
      chars -= next?.chars ?? 0;
      return next?.placed;
    },
    clear(): void {
      coming = [];
      leaving = [];
      chars = 0;
      isFull = false;
    },
    /** Whether there was one that found no room. */
    isFull: () => isFull,
  };
};
