import { createDeadline, type Deadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { FindModelTraits } from '../../llm/model-traits.ts';
import type { GatewayFault } from '../errors.ts';
import { unseenReason } from '../fitness.ts';
import type { ItemVerdict, Moderate, ModerationItem } from '../judge/moderate.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { DEFAULT_ALIAS, type FindAlias, type ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import type { RateLimit } from '../rate-limit.ts';
import { isBlank } from '../text/normalize.ts';
import { type InputLimits, parseModerationItems, parseOuterFields, requireGatewayKey } from './request.ts';

/** Headers in which clients send how long they wait: name, and milliseconds per unit. */
const TIMEOUT_HEADERS = [
  ['x-request-timeout-ms', 1],
  // Sent by the official OpenAI clients, in seconds: Node's whole timeout, Python's read timeout.
  ['x-stainless-timeout', 1000],
  ['x-stainless-read-timeout', 1000],
] as const;

/** The time that a request may take: the configured limit, or the client's own timeout when that is shorter. */
export const deadlineMsFor = (headers: Headers, limitMs: number): number => {
  let shortest = limitMs;
  for (const [name, unitMs] of TIMEOUT_HEADERS) {
    const given = headers.get(name);
    const clientMs = given !== null && /^\d{1,9}(?:\.\d{1,6})?$/.test(given) ? Number(given) * unitMs : 0;
    if (clientMs > 0) shortest = Math.min(shortest, clientMs);
  }
  return shortest;
};

type ModerationResult = {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
  /** The same numbers under the name in our specification. */
  readonly scores: Readonly<Record<string, number>>;
  readonly category_applied_input_types: Readonly<Record<string, readonly string[]>>;
};

const inputTypesOf = ({ text, image }: ModerationItem) => {
  const texts = isBlank(text) ? [] : ['text'];
  return { textOnly: texts, withImage: image === undefined ? texts : [...texts, 'image'] };
};

/** One item's result in OpenAI's shape: always all 13 categories. */
const createResult = (scores: CategoryScores, { categories }: Policy, item: ModerationItem): ModerationResult => {
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

type ModerationRouteNeeds = {
  readonly clock: Clock;
  readonly findTraits: FindModelTraits;
  readonly gatewayKeys: readonly string[];
  readonly findAlias: FindAlias;
  readonly policy: Policy;
  readonly moderate: Moderate;
  readonly rateLimit: RateLimit;
  readonly metrics: GatewayMetrics;
  readonly newId: () => string;
  readonly digest: (text: string) => string | Promise<string>;
  readonly deadlineMs: number;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly limits: InputLimits;
};

type ParsedRequest = { readonly alias: ModelAlias; readonly items: readonly ModerationItem[] };

const cacheHeader = (verdicts: readonly ItemVerdict[]): string => {
  const hits = verdicts.filter(({ isCached }) => isCached).length;
  if (hits === 0) return 'miss';
  return hits === verdicts.length ? 'hit' : 'partial';
};

const hiddenHeader = (verdicts: readonly ItemVerdict[]): string => {
  const ways = new Set(verdicts.flatMap(({ hidden }) => hidden));
  return ways.size === 0 ? 'none' : [...ways].sort().join(', ');
};

/** `POST /v1/moderations`: one result for each input, in order, or one error for all of them. */
export const createModerationRoute = (needs: ModerationRouteNeeds) => {
  const { clock, gatewayKeys, findAlias, policy, moderate, rateLimit, metrics } = needs;
  // Replicas may list their keys in another order, so an index would not identify a key in a shared count.
  const keyIds = gatewayKeys.map((key) => needs.digest(key));

  /** Ollama leaves out an image that its model cannot see, and answers all the same. */
  const requireVision = async (alias: ModelAlias, signal: AbortSignal): Promise<void> => {
    if (alias.vision === 'force') return;
    const traits = await untilAborted(needs.findTraits(alias.model), signal);
    const reason = 'it could not be asked whether its model sees images';
    if (traits === undefined) throw new Fault<GatewayFault>({ kind: 'backend-error', reason });
    const unseen = unseenReason(alias, traits);
    if (unseen === undefined) return;
    const message = `This model judges no images: ${unseen}`;
    throw new Fault({ kind: 'bad-input', code: 'image_unsupported', param: 'input', message });
  };

  const parseRequest = async (request: Request, deadline: Deadline): Promise<ParsedRequest> => {
    const { model = DEFAULT_ALIAS, input } = parseOuterFields(await needs.bodies.readJson(request, deadline.signal));
    const alias = findAlias(model);
    const items = parseModerationItems(input, alias.vision !== false, needs.limits);
    if (items.some(({ image }) => image !== undefined)) await requireVision(alias, deadline.signal);
    return { alias, items };
  };

  const respond = ({ alias, items }: ParsedRequest, verdicts: readonly ItemVerdict[]): Response => {
    const results = items.map((item, index) => {
      const verdict = verdicts[index];
      if (verdict === undefined) throw new TypeError('An item without a verdict');
      const result = createResult(verdict.scores, policy, item);
      metrics.verdict({ alias: alias.alias, isFlagged: result.flagged, isCached: verdict.isCached });
      return result;
    });
    const body = { id: `modr-${needs.newId()}`, model: alias.alias, results };
    return jsonResponse(200, body, {
      'x-moderation-backend-model': alias.model,
      'x-moderation-policy': policy.version,
      'x-moderation-cache': cacheHeader(verdicts),
      'x-moderation-hidden': hiddenHeader(verdicts),
    });
  };

  return async (request: Request): Promise<Response> => {
    const keyId = await keyIds[requireGatewayKey(request, gatewayKeys)];
    const retryAfterMs = await rateLimit(keyId ?? '');
    if (retryAfterMs > 0) throw new Fault({ kind: 'rate-limited', retryAfterMs });
    const deadline = createDeadline(clock, deadlineMsFor(request.headers, needs.deadlineMs), request.signal);
    try {
      const parsed = await parseRequest(request, deadline);
      const verdicts = await Promise.all(parsed.items.map((item) => moderate(item, parsed.alias, deadline)));
      deadline.clear();
      return respond(parsed, verdicts);
    } catch (error) {
      // One item without a verdict fails the whole request: its other calls are aborted.
      deadline.end();
      throw error;
    }
  };
};
