import { DEFAULT_POLICY, onePolicy, type Policy } from '../../../src/gateway/policy/policy.ts';
import { parsePolicyFile } from '../../../src/gateway/policy/policy-file.ts';

/** The policy of a file in the form that holds one. */
export const parsePolicy = (text: string): Policy => parsePolicyFile(text).policies.get('standard') ?? DEFAULT_POLICY;

/** Needs of a gateway that judges everything by one policy. */
export const judgedBy = (policy: Policy) => ({ needs: { policies: onePolicy(policy) } });
