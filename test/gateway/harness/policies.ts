import { createHash } from 'node:crypto';
import { DEFAULT_POLICY, onePolicy, type Policy } from '../../../src/gateway/policy/policy.ts';
import { parsePolicyFile } from '../../../src/gateway/policy/policy-file.ts';
import { selectPolicies } from '../../../src/gateway/policy/select-policy.ts';
import { GATEWAY_KEY } from './world.ts';

/** The policy of a file in the form that holds one. */
export const parsePolicy = (text: string): Policy => parsePolicyFile(text).policies.get('standard') ?? DEFAULT_POLICY;

/** Needs of a gateway that judges everything by one policy. */
export const judgedBy = (policy: Policy) => ({ needs: { policies: onePolicy(policy) } });

/** A second gateway key. */
export const SECOND_KEY = 'gateway-key-2';
/** The gateway keys whose policies a test chooses. */
export const KEYS = [GATEWAY_KEY, SECOND_KEY];
const ALIASES = [
  'moderation-fast',
  'moderation-standard',
  'moderation-accurate',
  'omni-moderation-latest',
  'qwen3guard',
  'guard-json',
];

/** A key as a policy file names it, whole. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Who is judged by which policy of a file, with both keys. */
export const selectionOf = (file: unknown, shadow?: string) =>
  selectPolicies(parsePolicyFile(typeof file === 'string' ? file : JSON.stringify(file)), {
    aliases: ALIASES,
    keyDigests: KEYS.map(sha256),
    shadow,
  });
