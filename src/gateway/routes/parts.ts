import type { RequestBodies } from '../../core/http/request-bodies.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Moderate } from '../judge/types.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { FindAlias } from '../models.ts';
import type { Policy, PolicySelection } from '../policy/policy.ts';
import type { Callers } from './callers.ts';
import type { AnswerWithin } from './deadline.ts';
import type { NoVerdict } from './no-verdict.ts';
import type { InputRules, ReadInput } from './request.ts';

/** What the routes that give verdicts are made of. */
export type RouteParts = Pick<Runtime, 'clock' | 'newId' | 'runInSlices'> & {
  readonly answerWithin: AnswerWithin;
  readonly callers: Callers;
  readonly findAlias: FindAlias;
  readonly policies: PolicySelection;
  readonly moderateBy: (policy: Policy) => Moderate;
  readonly metrics: Pick<GatewayMetrics, 'verdict' | 'flaggedWithoutVerdict'>;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly inputRules: Pick<InputRules, 'limits' | 'unjudged'>;
  readonly readInput: ReadInput;
  /** What is thrown for a failure: itself, or with an answer that flags, as the operator has chosen. */
  readonly noVerdict: NoVerdict;
};
