import { withoutSecrets } from './redact.ts';
import { UNSEEN_CHARACTERS } from './unseen.ts';

const DEFAULT_LIMIT_CHARS = 200;
/** Searched beyond what can be shown, so that a secret is known for one where the end of the text cuts it. */
const SEARCHED_BEYOND_CHARS = 200;

/** A text with nothing invisible in it, on one line and no longer than `limitChars`. Its secrets are still there. */
export const visibleText = (text: string, limitChars: number): string => {
  // Cut first: what is thrown away need not be looked at. The rest is bounded by code points.
  const seen = text
    .slice(0, limitChars * 4)
    .replace(UNSEEN_CHARACTERS, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const points = [...seen];
  const isWhole = points.length <= limitChars && text.length <= limitChars * 4;
  return isWhole ? seen : `${points.slice(0, limitChars - 1).join('')}…`;
};

/**
 * A text of the relay's as data that can be shown: a `visibleText` without secrets. What it says stays what somebody else
 * wrote; it belongs into a field of a result and never into a sentence of ours.
 */
export const cleanText = (text: string, limitChars: number = DEFAULT_LIMIT_CHARS): string =>
  visibleText(withoutSecrets(text.slice(0, limitChars * 4 + SEARCHED_BEYOND_CHARS)), limitChars);
