import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import type { KeyRefusal } from './key-state.ts';

const MAX_CHARS = 4096;

// "billing", "quota" and "limits" alone prove nothing: messages about a burst link to pages with these names.
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
// A server that quotes the request does so after a quote, a colon or a bracket.
const QUOTA_AT_START = new RegExp(`^(?:[^"'\`:=<>{}[\\]]|\\w'\\w){0,100}?(?:${QUOTA})`, 'i');
// Some servers write "quota" for a limit that ends within a minute.
const SHORT_WINDOW = /per[ _-]?(?:minute|second)|\b[rt]p[ms]\b/i;

const Text = v.optional(v.fallback(v.string(), ''), '');
const ErrorFields = v.pipe(
  v.object({ code: Text, type: Text, message: Text, detail: Text }),
  v.transform(({ code, type, message, detail }) => `${code} ${type} ${message} ${detail}`),
);
const ErrorBody = v.pipe(
  v.object({ error: v.union([v.string(), ErrorFields]) }),
  v.transform(({ error }) => error),
);

/** An error under 200 may quote the judged text, which must not be able to cool a key down. */
const beginsWithQuota = (text: string): boolean => QUOTA_AT_START.test((parseJson(ErrorBody, text) ?? text).trim());

const mentionsQuota = (status: number, text: string): boolean =>
  !SHORT_WINDOW.test(text) && (status === 200 ? beginsWithQuota(text) : QUOTA_ANYWHERE.test(text));

/**
 * The statuses that can speak about a key. All others speak about the request or the host, and a 400 may even begin with
 * the judged text: whatever their body says, no key cools down.
 */
const ABOUT_THE_KEY = new Set([200, 401, 402, 403, 429]);

/**
 * Detects whether an answer refuses the key; undefined when it concerns the request or the host. A 403 is about the
 * requested model: an alias outside the plan must not take the key from the others. `text` is the whole body: only its
 * start is read, and nothing is stored, because bodies can name accounts.
 */
export const detectRefusal = (status: number, text: string, retryAfter: number | undefined): KeyRefusal | undefined => {
  if (!ABOUT_THE_KEY.has(status)) return undefined;
  const scope = status === 403 ? { scope: 'model' as const } : {};
  if (status === 402 || mentionsQuota(status, text.slice(0, MAX_CHARS))) return { reason: 'quota', ...scope };
  if (status === 401 || status === 403) return { reason: 'auth', ...scope };
  if (status !== 429) return undefined;
  return { reason: 'burst', ...(retryAfter === undefined ? {} : { retryAfterMs: retryAfter }) };
};
