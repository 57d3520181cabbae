import { webDigest } from '../../adapter/web-crypto.ts';
import type { PolicySelection } from '../../gateway/policy/policy.ts';
import { parsePolicyFile } from '../../gateway/policy/policy-file.ts';
import { selectPolicies, withoutPolicyFile } from '../../gateway/policy/select-policy.ts';
import type { GatewayConfig } from '../../gateway/settings/config.ts';

/**
 * The policies of `MODERATION_POLICY`, or of the text of a policy file, or ours without both. Throws a `ConfigError` with every
 * problem.
 */
export const policiesOf = async (
  { settings, models, gatewayKeys, shadow }: Pick<GatewayConfig, 'settings' | 'models' | 'gatewayKeys' | 'shadow'>,
  fileText?: string,
): Promise<PolicySelection> => {
  const { MODERATION_POLICY: inline } = settings;
  const text = inline ?? fileText;
  if (text === undefined) return withoutPolicyFile(shadow?.policy);
  const file = parsePolicyFile(text, inline === undefined ? 'MODERATION_POLICY_FILE' : 'MODERATION_POLICY');
  return selectPolicies(file, {
    aliases: [...models.keys()],
    shadow: shadow?.policy,
    keyDigests: await Promise.all(gatewayKeys.map(webDigest)),
  });
};
