import { isRecord } from '../core/record.ts';

/** What a success carries. `data` is absent in the relay's answer when there is none. */
export type Envelope = { readonly data: unknown };

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The payload of a success (`{"code":0,"message":"success","data":...}`); nothing for any other text. */
export const envelopeOf = (text: string): Envelope | undefined => {
  const body = parsed(text);
  return isRecord(body) && body.code === 0 ? { data: body.data } : undefined;
};

/** Whether a text is JSON at all: a proxy's or a web page's answer is not. */
export const isJsonText = (text: string): boolean => parsed(text) !== undefined;

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/**
 * The relay's own word for a refusal, from either of its two error shapes: a text as `code`, or a number with a `reason`.
 * Nothing when it is not in the form of such a word: it may then be any text.
 */
export const refusalCodeOf = (text: string): string | undefined => {
  const body = parsed(text);
  if (!isRecord(body)) return undefined;
  const word = typeof body.code === 'string' ? body.code : body.reason;
  return typeof word === 'string' && CODE.test(word) ? word : undefined;
};
