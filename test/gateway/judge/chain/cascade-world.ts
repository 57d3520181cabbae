import type { HttpRequest } from '../../../../src/core/http/client.ts';
import { guardVerdictJson, isGuardCall } from '../../harness/guard-face.ts';
import { resultsOf } from '../../harness/read-answer.ts';
import { type Answer, gatewayOver, nonceOf, replying, verdictJson, type WorldSettings } from '../../harness/world.ts';

/** Scores by category. */
export type Scores = Readonly<Record<string, number>>;
/** The model that a call is for. */
export const modelOf = ({ body = '{}' }: HttpRequest): string => (JSON.parse(body) as { model: string }).model;

/** An alias with a small judge and a large one. */
export const CASCADE = {
  fast: {
    model: 'small',
    second: 'large',
    guard: 'text',
    doubt: { default: [0.2, 0.8], 'sexual/minors': [0.05, 0.95] },
  },
  large: { model: 'large', vision: true },
};

/** A judge that always finds the same, on both faces. */
export const says =
  (scores: Scores): Answer =>
  (sent) =>
    replying(sent, (isGuardCall(sent) ? guardVerdictJson : verdictJson)(nonceOf(sent), scores));

/** A gateway with that alias, and what each judge says. */
export const cascade = (
  { small, large }: { readonly small: Answer; readonly large: Answer },
  { variables, ...rest }: WorldSettings = {},
) =>
  gatewayOver((sent) => (modelOf(sent) === 'small' ? small(sent) : large(sent)), {
    variables: { MODERATION_MODELS: JSON.stringify(CASCADE), ...variables },
    ...rest,
  });

/** The scores of an answer. */
export const scoresOf = async (answer: Response) => (await resultsOf(answer))[0]?.category_scores as Scores | undefined;
/** A request. */
export const BODY = { model: 'fast', input: 'some text' };
