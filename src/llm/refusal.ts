import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import type { Refusal } from './key-pool.ts';

const LOOK_CHARS = 4096;

// "billing", "quota" and "limits" alone say nothing: messages about a burst point to pages of those names.
const QUOTA = [
  'usage[ _]limit(?!s)',
  'usage limits (?:reached|exceeded)',
  '(?:spend|spending|budget)[ _]limit',
  'budget has been exceeded',
  'insufficient(?:[ _]\\w{1,20})?[ _](?:quota|balance|credits?|funds)',
  'quota[ _](?:has been |is |was )?(?:exceeded|exhausted|used up)',
  '(?:exceed(?:s|ed)?|exhausted|reached|out of|over)(?: \\w{1,20}){0,3} quota',
  '(?:out of|not enough|requires more) credits?',
  'no credits',
  'credits? (?:has |have )?(?:been )?(?:exhausted|used up|run out)',
  '(?:credit )?balance (?:is )?(?:too low|insufficient|not enough|exhausted)',
  'billing[ _]hard[ _]limit',
  'billing[ _](?:is )?(?:not[ _]active|inactive|disabled)',
  'plan and billing details',
  '余额不足|额度不足|额度已|欠费',
].join('|');

const QUOTA_ANYWHERE = new RegExp(QUOTA, 'i');
// A server that repeats what it was sent does so behind a quote, a colon or a bracket.
const QUOTA_AT_THE_START = new RegExp(`^(?:[^"'\`:=<>{}[\\]]|\\w'\\w){0,100}?(?:${QUOTA})`, 'i');
// Some servers say "quota" of a limit that is over in a minute.
const SHORT_WINDOW = /per[ _-]?(?:minute|second)|\b[rt]p[ms]\b/i;

const Words = v.optional(v.fallback(v.string(), ''), '');
const Complaint = v.pipe(
  v.object({ code: Words, type: Words, message: Words, detail: Words }),
  v.transform(({ code, type, message, detail }) => `${code} ${type} ${message} ${detail}`),
);
const ErrorBody = v.pipe(
  v.object({ error: v.union([v.string(), Complaint]) }),
  v.transform(({ error }) => error),
);

/** Answers to the request as such may repeat the text being judged, which must not be able to put a key to rest. */
const opensWithQuota = (status: number, text: string): boolean => {
  const said = parseJson(ErrorBody, text) ?? (status === 200 ? undefined : parseJson(Complaint, text)) ?? text;
  return QUOTA_AT_THE_START.test(said.trim());
};

const speaksOfQuota = (status: number, text: string): boolean => {
  if (SHORT_WINDOW.test(text)) return false;
  const isAboutTheKey = status === 401 || status === 403 || status === 429;
  return isAboutTheKey ? QUOTA_ANYWHERE.test(text) : opensWithQuota(status, text);
};

/**
 * What an answer says about the key it was asked with; nothing when it speaks of the request or of the host. `text` is
 * the whole body, of which only the start is read and nothing is kept: bodies can name accounts.
 */
export const refusalOf = (status: number, text: string, retryAfter: number | undefined): Refusal | undefined => {
  if (status !== 200 && (status < 400 || status > 499)) return undefined;
  if (status === 402 || speaksOfQuota(status, text.slice(0, LOOK_CHARS))) return { reason: 'quota' };
  if (status === 401 || status === 403) return { reason: 'auth' };
  if (status !== 429) return undefined;
  return { reason: 'burst', ...(retryAfter === undefined ? {} : { retryAfterMs: retryAfter }) };
};
