import * as v from 'valibot';
import { EvaluationError } from './errors.ts';

/** Who judged: where it was asked, and the model and policy it named. A gateway of another kind names neither. */
export const Gateway = v.object({
  url: v.string(),
  backendModel: v.nullable(v.string()),
  policy: v.nullable(v.string()),
});
export type Gateway = Readonly<v.InferOutput<typeof Gateway>>;

const LONGEST_NAME_CHARS = 200;

const nameFrom = (header: string | null): string | null =>
  header?.replace(/\p{C}+/gu, ' ').slice(0, LONGEST_NAME_CHARS) || null;

/** Reads who judged from the headers of an answer. */
export const gatewayFrom = (url: string, headers: Headers): Gateway => ({
  url,
  backendModel: nameFrom(headers.get('x-moderation-backend-model')),
  policy: nameFrom(headers.get('x-moderation-policy')),
});

/** Model and policy for people. */
export const setupText = ({ backendModel, policy }: Pick<Gateway, 'backendModel' | 'policy'>): string =>
  `backend model ${backendModel ?? 'not named'}, policy ${policy ?? 'not named'}`;

/** Holds the verdicts of a report to one gateway: `add` throws an `EvalProblem` at the first one of another. */
export type GatewayCheck = { readonly add: (gateway: Gateway) => void; readonly known: () => Gateway | undefined };

/** Starts without a gateway: the first one added is the one that counts. */
export const createGatewayCheck = (): GatewayCheck => {
  let first: Gateway | undefined;
  return {
    add(gateway) {
      first ??= gateway;
      if (gateway.backendModel === first.backendModel && gateway.policy === first.policy) return;
      throw new EvaluationError(
        `${gateway.url}: a verdict of ${setupText(gateway)} does not go with those so far, of ${setupText(first)}; ` +
          'give --fresh to throw the earlier results away, or another --out to keep them',
      );
    },
    known: () => first,
  };
};
