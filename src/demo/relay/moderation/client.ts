import * as v from 'valibot';
import { createDeadline, pause, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { parseJson } from '../../../core/json.ts';
import { type ModerationInput, toRequestInput } from './input.ts';
import { createKeyRotation, type ModerationKey, recordCall } from './keys.ts';

/** The platform's settings of moderation, under its names. Tests may change them. */
export type ModerationSettings = {
  enabled: boolean;
  mode: 'off' | 'observe' | 'pre_block';
  base_url: string;
  model: string;
  timeout_ms: number;
  retry_count: number;
  thresholds: Readonly<Record<string, number>>;
  /** Percent of the texts. */
  sample_rate: number;
  all_groups: boolean;
  model_filter: { readonly type: string; readonly models: readonly string[] };
  keyword_blocking_mode: 'keyword_only' | 'keyword_and_api' | 'api_only';
  /** Newer releases have such users; what they call them could not be read. */
  exempt_user_ids: readonly number[];
  auto_ban_enabled: boolean;
  ban_threshold: number;
  violation_window_hours: number;
};

/** What becomes of an input. `error`: there was no verdict, and the request passes. */
export type ModerationOutcome = {
  readonly action: 'allow' | 'block' | 'error';
  readonly scores: Readonly<Record<string, number | null>>;
};

/** Asks for a verdict on an input, by the platform's rules. Never rejects. */
export type ModerationClient = {
  readonly check: (input: ModerationInput) => Promise<ModerationOutcome>;
  /** One call with a key, frozen or not: how an admin tests it. Unless it is recorded, the key stays as frozen as it was. */
  readonly test: (key: ModerationKey, input: ModerationInput, isRecorded: boolean) => Promise<ModerationOutcome>;
};

type ModerationClientNeeds = {
  readonly clock: Clock;
  readonly settings: ModerationSettings;
  readonly keys: readonly ModerationKey[];
  readonly send: (request: Request) => Promise<Response>;
};

/** The platform's own thresholds. Only these categories count. */
export const PLATFORM_THRESHOLDS: Readonly<Record<string, number>> = {
  harassment: 0.98,
  'harassment/threatening': 0.9,
  hate: 0.65,
  'hate/threatening': 0.65,
  illicit: 0.95,
  'illicit/violent': 0.95,
  'self-harm': 0.65,
  'self-harm/intent': 0.85,
  'self-harm/instructions': 0.65,
  sexual: 0.65,
  'sexual/minors': 0.65,
  violence: 0.95,
  'violence/graphic': 0.95,
};

/** Settings as a fresh platform has them: off. */
export const createModerationSettings = (): ModerationSettings => ({
  enabled: false,
  mode: 'pre_block',
  base_url: 'https://api.openai.com',
  model: 'omni-moderation-latest',
  timeout_ms: 3000,
  retry_count: 2,
  thresholds: PLATFORM_THRESHOLDS,
  sample_rate: 100,
  all_groups: true,
  model_filter: { type: 'all', models: [] },
  keyword_blocking_mode: 'keyword_and_api',
  exempt_user_ids: [],
  auto_ban_enabled: true,
  ban_threshold: 10,
  violation_window_hours: 720,
});

const RETRY_PAUSE_MS = 100;
const NO_VERDICT: ModerationOutcome = { action: 'error', scores: {} };

/** All that the platform reads of an answer. `flagged` has to be a boolean, and is ignored. */
const Answer = v.object({
  results: v.pipe(
    v.array(
      v.object({
        flagged: v.nullish(v.boolean()),
        category_scores: v.record(v.string(), v.nullable(v.number())),
      }),
    ),
    v.minLength(1),
  ),
});

/** Creates the platform's client of the moderation API: three attempts, frozen keys, thresholds of its own, and open on every failure. */
export const createModerationClient = ({ clock, settings, keys, send }: ModerationClientNeeds): ModerationClient => {
  const nextKey = createKeyRotation(keys);

  const call = async (
    key: ModerationKey,
    input: ModerationInput,
  ): Promise<{ status: number; scores?: ModerationOutcome['scores'] | undefined }> => {
    const { signal, clear } = createDeadline(clock, settings.timeout_ms);
    try {
      const request = new Request(`${settings.base_url.replace(/\/+$/, '')}/v1/moderations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: settings.model, input: toRequestInput(input) }),
        signal,
      });
      const response = await untilAborted(send(request), signal);
      const text = await untilAborted(response.text(), signal);
      const scores = response.ok ? parseJson(Answer, text)?.results[0]?.category_scores : undefined;
      return { status: response.status, scores };
    } catch {
      return { status: 0 };
    } finally {
      clear();
    }
  };

  const attempt = async (key: ModerationKey, input: ModerationInput, isRecorded = true) => {
    const { status, scores } = await call(key, input);
    if (isRecorded) recordCall(key, status, scores !== undefined, clock.now());
    if (scores === undefined) return { status, outcome: NO_VERDICT };
    const isHit = Object.entries(settings.thresholds).some(([name, threshold]) => (scores[name] ?? 0) >= threshold);
    const outcome: ModerationOutcome = { action: isHit ? 'block' : 'allow', scores };
    return { status, outcome };
  };

  return {
    test: async (key, input, isRecorded) => (await attempt(key, input, isRecorded)).outcome,
    async check(input) {
      const never = new AbortController().signal;
      for (let tried = 0; tried <= settings.retry_count; tried++) {
        const key = nextKey(clock.now());
        if (key === undefined) return NO_VERDICT;
        if (tried > 0) await pause(clock, tried * RETRY_PAUSE_MS, never);
        const { status, outcome } = await attempt(key, input);
        if (outcome.action !== 'error' || status === 400) return outcome;
      }
      return NO_VERDICT;
    },
  };
};
