import { Fault } from '../../core/fault.ts';
import { AnsweredFailure } from '../../core/http/handler.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { GatewayFault } from '../errors.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import type { GatewaySettings } from '../settings/variables.ts';
import { createResultWriter, flaggedScores, moderationJson } from './result.ts';

/**
 * What is known of a request whose key was accepted: the alias that was asked for, or the default one, its policy, and the number of
 * results that the client expects.
 */
export type KnownRequest = {
  readonly alias: string;
  readonly inputs: number;
  readonly policy: Policy;
  /** Answers with these scores in a form of its own; without it, as `/v1/moderations`. */
  readonly respond?: (scores: CategoryScores, headers: Readonly<Record<string, string>>) => Response;
};

/**
 * Decides which failures of a moderation are answered as flagged, as the operator has chosen: returns what is to be thrown, the failure
 * itself or with its answer. Without `known` it is always the failure itself.
 */
export type NoVerdict = (failure: unknown, known: KnownRequest | undefined) => unknown;

type NoVerdictNeeds = Pick<Runtime, 'newId'> & {
  readonly settings: Pick<GatewaySettings, 'UNJUDGED_INPUT' | 'NO_VERDICT'>;
  readonly metrics: Pick<GatewayMetrics, 'flaggedWithoutVerdict'>;
};

/** The most results of one such answer: the largest `MAX_INPUTS`. A body may hold millions of empty texts. */
const MAX_RESULTS = 1000;

/** The codes of requests that no program sends which follows the API. What a text or an image holds does not lead here. */
const MALFORMED = new Set(['invalid_json', 'invalid_type', 'missing_input']);

/**
 * What is reported for each failure that leaves an input without a verdict: the code of its error. Undefined where the
 * caller or the operator has to mend the request, which a flagged answer would hide, or where no client waits for an answer.
 */
const REASONS: Readonly<Record<Exclude<GatewayFault['kind'], 'bad-input' | 'unjudged-input'>, string | undefined>> = {
  unauthorized: undefined,
  'model-not-found': undefined,
  'not-found': undefined,
  conflict: undefined,
  'method-not-allowed': undefined,
  'unsupported-media-type': undefined,
  'client-left': undefined,
  // Of a chat that asks for scores. Of all others nothing is known here: their callers try another service on an error.
  'unjudged-text': 'unjudged_text',
  'body-too-large': 'body_too_large',
  'body-too-slow': 'body_timeout',
  'rate-limited': 'rate_limit_exceeded',
  unavailable: 'unavailable',
  overloaded: 'overloaded',
  'backend-timeout': 'backend_timeout',
  'backend-error': 'backend_error',
  'backend-unusable': 'backend_unusable_reply',
  'no-backend-key': 'no_backend_key',
};

const flaggableReason = (detail: GatewayFault): string | undefined => {
  if (detail.kind === 'unjudged-input') return detail.code;
  if (detail.kind === 'bad-input') return MALFORMED.has(detail.code) ? undefined : detail.code;
  return REASONS[detail.kind];
};

/** The code of a failure that leaves an input without a verdict; undefined for others. A bug has one: a text may have led to it. */
export const noVerdictReason = (error: unknown): string | undefined => {
  const detail: GatewayFault | undefined = error instanceof Fault ? error.detail : undefined;
  return detail === undefined ? 'internal_error' : flaggableReason(detail);
};

/** What a failure is called where it is reported: the code of its error, or its kind. */
export const reasonOf = (detail: GatewayFault): string =>
  flaggableReason(detail) ?? ('code' in detail ? detail.code : detail.kind);

/** Creates the one place that answers as flagged what has no verdict. */
export const createNoVerdict = ({ settings, metrics, newId }: NoVerdictNeeds): NoVerdict => {
  // As a rule an image makes a body too large, and nobody reads it to find out.
  const isUnjudged = (detail: GatewayFault | undefined): boolean =>
    detail?.kind === 'unjudged-input' || detail?.kind === 'body-too-large';
  const isFlagging = (detail: GatewayFault | undefined): boolean =>
    settings.NO_VERDICT === 'flag' || (isUnjudged(detail) && settings.UNJUDGED_INPUT === 'flag');
  return (failure, known) => {
    const detail: GatewayFault | undefined = failure instanceof Fault ? failure.detail : undefined;
    const reason = noVerdictReason(failure);
    if (known === undefined || reason === undefined || !isFlagging(detail)) return failure;
    metrics.flaggedWithoutVerdict(reason);
    const { policy } = known;
    const scores = flaggedScores(policy);
    const headers = { 'x-moderation-policy': policy.version, 'x-moderation-no-verdict': reason };
    if (known.respond !== undefined) return new AnsweredFailure(failure, known.respond(scores, headers));
    const result = createResultWriter(policy)(scores, { text: false, image: false });
    const results = Array.from({ length: Math.min(MAX_RESULTS, Math.max(1, known.inputs)) }, () => result);
    const json = moderationJson(`modr-${newId()}`, known.alias, results);
    return new AnsweredFailure(failure, jsonTextResponse(200, json, headers));
  };
};
