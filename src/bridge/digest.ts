import { cutText } from '../core/text.ts';
import type { Steps } from '../core/time-slices.ts';

/** A digest of all the texts that are added, as if they were one: SHA-256 in base64url. A text must not end within a pair. */
export type RunningHash = { readonly add: (text: string) => void; readonly end: () => string };
export type NewHash = () => RunningHash;

/** Adding a text takes longer than joining it to others, unless it is long. */
const ADDED_CHARS = 16_384;

/** A short text that identifies others, whose pieces are put together. However long they are, no step takes long. */
export function* digestOf(newHash: NewHash, texts: Iterable<string>): Steps<string> {
  const hash = newHash();
  let held = '';
  for (const text of texts) {
    for (const piece of cutText(text)) {
      held += piece;
      if (held.length < ADDED_CHARS) continue;
      hash.add(held);
      held = '';
      yield;
    }
  }
  hash.add(held);
  return hash.end();
}
