import * as v from 'valibot';
import { parseJsonValue } from '../core/json.ts';
import { EVAL_CATEGORIES } from './category.ts';
import type { Gateway } from './gateway.ts';
import { EvalScores, type EvalVerdict } from './result.ts';

/** What came back for one text, or that nothing did. An error may say how long to wait before another try. */
export type EvalAnswer =
  | {
      readonly kind: 'verdict';
      readonly verdict: EvalVerdict;
      readonly gateway: Gateway;
      /** Undefined where the gateway does not say. */
      readonly cache?: 'hit' | 'miss' | undefined;
      /** How the scores came about, where the gateway says it: `judged`, `probability`, `binary`, or several. */
      readonly scoreType?: string | undefined;
    }
  | { readonly kind: 'error'; readonly code: string; readonly retryAfterMs?: number; readonly isUnreachable?: true };

/** The wait where a gateway asks for one and does not say how long. */
const DEFAULT_WAIT_MS = 1000;
/** A longer wait is an error at once: a later run will do it. */
const LONGEST_WAIT_MS = 120_000;

const Moderation = v.object({
  results: v.strictTuple([
    v.object({
      flagged: v.boolean(),
      categories: v.object(v.entriesFromList(EVAL_CATEGORIES, v.boolean())),
      category_scores: EvalScores,
      x_categories: v.optional(v.record(v.string(), v.object({ flagged: v.boolean() })), {}),
    }),
  ]),
});

const ErrorBody = v.object({ error: v.object({ code: v.nullish(v.string()), message: v.nullish(v.string()) }) });

/** Reads a 200: one result with all 13 categories that agrees with itself, or nothing. A missing score is never clean. */
export const parseEvalVerdict = (text: string): EvalVerdict | undefined => {
  const parsed = v.safeParse(Moderation, parseJsonValue(text));
  if (!parsed.success) return undefined;
  const [{ flagged, categories, category_scores: scores, x_categories: own }] = parsed.output.results;
  const positive = EVAL_CATEGORIES.filter((category) => categories[category]);
  const isOwnFlagged = Object.values(own).some((category) => category.flagged);
  return flagged === (positive.length > 0 || isOwnFlagged) ? { scores, categories: positive, flagged } : undefined;
};

/** The content of an error body in OpenAI's shape: a code fit for a results file, and a message fit for a terminal. */
export const parseError = (text: string): { readonly code?: string; readonly message?: string } => {
  const parsed = v.safeParse(ErrorBody, parseJsonValue(text));
  if (!parsed.success) return {};
  const { code, message } = parsed.output.error;
  return {
    ...(code && /^[\w.-]{1,64}$/.test(code) ? { code } : {}),
    ...(message ? { message: message.replace(/\p{C}+/gu, ' ').slice(0, 300) } : {}),
  };
};

/** The wait a 429 or 503 asks for, in seconds or as a date; nothing when it is too long to sit out. */
export const parseRetryAfterMs = (retryAfter: string | null, nowMs: number): number | undefined => {
  const text = retryAfter?.trim() ?? '';
  const waitMs = /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  if (Number.isNaN(waitMs)) return DEFAULT_WAIT_MS;
  return waitMs > LONGEST_WAIT_MS ? undefined : Math.max(0, waitMs);
};
