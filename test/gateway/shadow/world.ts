import type { HttpRequest } from '../../../src/core/http/client.ts';
import { type FoundBy, type ShadowOutcome, SILENT_GATEWAY_METRICS } from '../../../src/gateway/metrics.ts';
import { guardVerdictJson, isGuardCall } from '../harness/guard-face.ts';
import { type Answer, gatewayOver, nonceOf, replying, verdictJson, type WorldSettings } from '../harness/world.ts';

/** Scores by category. */
export type Scores = Readonly<Record<string, number>>;
/** The model that a call is for. */
export const modelOf = ({ body = '{}' }: HttpRequest): string => (JSON.parse(body) as { model: string }).model;
/** The model of the shadow. */
export const SHADOW = 'gpt-oss:120b';

/** A judge that finds this. */
export const says =
  (scores: Scores = {}): Answer =>
  (sent) =>
    replying(sent, (isGuardCall(sent) ? guardVerdictJson : verdictJson)(nonceOf(sent), scores));

/** A judge that never answers. */
export const hangs: Answer = () => new Promise<never>(() => {});
/** A request. */
export const BODY = { model: 'moderation-fast', input: 'some text' };

/** A gateway whose shadow is the judge of `moderation-accurate`, what it counts, and the lines that it keeps. */
export const shadowed = (
  { live = says(), shadow = says() }: { readonly live?: Answer; readonly shadow?: Answer },
  setting: object = {},
  { variables, needs, ...rest }: WorldSettings = {},
) => {
  const counted: ShadowOutcome[] = [];
  const found: (readonly [string, FoundBy])[] = [];
  const lines: string[] = [];
  const world = gatewayOver((sent) => (modelOf(sent) === SHADOW ? shadow(sent) : live(sent)), {
    variables: {
      MODERATION_SHADOW: JSON.stringify({ alias: 'moderation-accurate', share: 1, ...setting }),
      ...variables,
    },
    needs: {
      metrics: {
        ...SILENT_GATEWAY_METRICS,
        shadow: (outcome) => counted.push(outcome),
        shadowFound: (category, foundBy) => found.push([category, foundBy]),
      },
      keepDisagreement: (line) => lines.push(line),
      ...needs,
    },
    ...rest,
  });
  const shadowCalls = () => world.calls.filter((sent) => modelOf(sent) === SHADOW);
  return { ...world, counted, found, lines, shadowCalls };
};
