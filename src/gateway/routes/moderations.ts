import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { matchingKeyIndex } from '../../core/http/auth.ts';
import { readJson } from '../../core/http/body.ts';
import { jsonResponse } from '../../core/http/json-response.ts';
import type { Judged, Moderate } from '../judge/moderate.ts';
import type { Meter } from '../metrics.ts';
import { DEFAULT_ALIAS, findAlias, type ModelAlias } from '../models.ts';
import type { Scores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import type { RateLimit } from '../rate-limit.ts';
import { isBlank } from '../text/normalize.ts';
import { type InputLimits, type Item, readEnvelope, readItems } from './request.ts';

/** Headers by which clients tell how long they will wait: name, and milliseconds per unit. */
const TIMEOUT_HEADERS = [
  ['x-request-timeout-ms', 1],
  // Sent by the official OpenAI clients, in seconds: Node's whole timeout, Python's read timeout.
  ['x-stainless-timeout', 1000],
  ['x-stainless-read-timeout', 1000],
] as const;

/** The time a request may take: the configured limit, or less when the client says that it waits for less. */
export const deadlineMsFor = (headers: Headers, limitMs: number): number => {
  let shortest = limitMs;
  for (const [name, unitMs] of TIMEOUT_HEADERS) {
    const given = headers.get(name);
    const waitsMs = given !== null && /^\d{1,9}(?:\.\d{1,6})?$/.test(given) ? Number(given) * unitMs : 0;
    if (waitsMs > 0) shortest = Math.min(shortest, waitsMs);
  }
  return shortest;
};

export type ModerationResult = {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
  /** The same numbers under the name that our specification gives them. */
  readonly scores: Readonly<Record<string, number>>;
  readonly category_applied_input_types: Readonly<Record<string, readonly string[]>>;
};

const inputTypesOf = ({ text, image }: Item) => {
  const texts = isBlank(text) ? [] : ['text'];
  return { textOnly: texts, withImage: image === undefined ? texts : [...texts, 'image'] };
};

/** One item's result in OpenAI's shape: always all 13 categories. */
export const resultOf = (scores: Scores, { categories }: Policy, item: Item): ModerationResult => {
  const flags: Record<string, boolean> = {};
  const numbers: Record<string, number> = {};
  const types: Record<string, readonly string[]> = {};
  const { textOnly, withImage } = inputTypesOf(item);
  let flagged = false;
  for (const [index, { name, threshold, images }] of categories.entries()) {
    const score = scores[index];
    if (score === undefined) throw new TypeError(`No score for ${name}`);
    numbers[name] = score;
    flags[name] = score >= threshold;
    types[name] = images ? withImage : textOnly;
    flagged ||= score >= threshold;
  }
  return { flagged, categories: flags, category_scores: numbers, scores: numbers, category_applied_input_types: types };
};

export type ModerationRouteNeeds = {
  readonly clock: Clock;
  readonly gatewayKeys: readonly string[];
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policy: Policy;
  readonly moderate: Moderate;
  readonly rateLimit: RateLimit;
  readonly meter: Meter;
  readonly newId: () => string;
  readonly digest: (text: string) => string | Promise<string>;
  readonly deadlineMs: number;
  readonly bodyLimitBytes: number;
  readonly limits: InputLimits;
};

type Asked = { readonly alias: ModelAlias; readonly items: readonly Item[] };

const cacheWord = (judged: readonly Judged[]): string => {
  const hits = judged.filter(({ isCached }) => isCached).length;
  if (hits === 0) return 'miss';
  return hits === judged.length ? 'hit' : 'partial';
};

/** Throws `unauthorized` unless the request presents a gateway key; returns the key's place in the list. */
export const authorise = (request: Request, gatewayKeys: readonly string[]): number => {
  const index = matchingKeyIndex(request, gatewayKeys);
  if (index === -1) throw new Fault({ kind: 'unauthorized' });
  return index;
};

/** `POST /v1/moderations`: one result for each input, in order, or one error for all of them. */
export const createModerationRoute = (needs: ModerationRouteNeeds) => {
  const { clock, gatewayKeys, models, policy, moderate, rateLimit, meter } = needs;
  // Replicas may list their keys in another order, so a place in the list would not tell keys apart in a shared count.
  const keyIds = gatewayKeys.map((key) => needs.digest(key));

  const read = async (request: Request, deadline: Deadline): Promise<Asked> => {
    const { model = DEFAULT_ALIAS, input } = readEnvelope(
      await readJson(request, needs.bodyLimitBytes, deadline.signal),
    );
    const alias = findAlias(models, model);
    return { alias, items: readItems(input, alias.vision, needs.limits) };
  };

  const answer = ({ alias, items }: Asked, judged: readonly Judged[]): Response => {
    const results = items.map((item, index) => {
      const verdict = judged[index];
      if (verdict === undefined) throw new TypeError('An item without a verdict');
      const result = resultOf(verdict.scores, policy, item);
      meter.verdict({ alias: alias.alias, isFlagged: result.flagged, isCached: verdict.isCached });
      return result;
    });
    const body = { id: `modr-${needs.newId()}`, model: alias.alias, results };
    return jsonResponse(200, body, {
      'x-moderation-backend-model': alias.model,
      'x-moderation-policy': policy.version,
      'x-moderation-cache': cacheWord(judged),
    });
  };

  return async (request: Request): Promise<Response> => {
    const keyId = await keyIds[authorise(request, gatewayKeys)];
    const retryAfterMs = await rateLimit(keyId ?? '');
    if (retryAfterMs > 0) throw new Fault({ kind: 'rate-limited', retryAfterMs });
    const deadline = createDeadline(clock, deadlineMsFor(request.headers, needs.deadlineMs), request.signal);
    try {
      const asked = await read(request, deadline);
      const judged = await Promise.all(asked.items.map((item) => moderate(item, asked.alias, deadline)));
      deadline.clear();
      return answer(asked, judged);
    } catch (error) {
      // One item without a verdict fails the whole request: what still runs for it is given up.
      deadline.end();
      throw error;
    }
  };
};
