import { ConfigError } from '../../core/config.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import { BUILT_IN_POLICIES, DEFAULT_POLICY, onePolicy, type Policy, type PolicySelection } from './policy.ts';
import type { PolicyFile } from './policy-file.ts';

/** Who sends requests: the aliases, and the SHA-256 of each gateway key in hexadecimal digits, in the order of the keys. */
export type PolicyUsers = {
  readonly aliases: readonly string[];
  readonly keyDigests: readonly string[];
  /** The name of the policy by which the shadow judges. */
  readonly shadow?: string | undefined;
};

const FINGERPRINT = /^[0-9a-f]{8,64}$/;
const KEY_RULE =
  'expected the first 8 to 64 digits of the SHA-256 of a gateway key, in lower-case hexadecimal, never the key itself';

/** Keys of the file are named by their place: one of them may be a gateway key that somebody has written there. */
const keyProblems = (fingerprints: readonly string[], keyDigests: readonly string[]): string[] =>
  fingerprints.flatMap((fingerprint, index) => {
    const where = `use.keys: entry ${index + 1}:`;
    if (!FINGERPRINT.test(fingerprint)) return [`${where} ${KEY_RULE}`];
    const found = keyDigests.filter((digest) => digest.startsWith(fingerprint)).length;
    if (found === 0) return [`${where} no key of MODERATION_API_KEYS has this SHA-256`];
    if (found > 1) return [`${where} several keys begin with it: write more digits`];
    const isNamedTwice = fingerprints.some(
      (other, at) =>
        at < index && keyDigests.some((digest) => digest.startsWith(fingerprint) && digest.startsWith(other)),
    );
    return isNamedTwice ? [`${where} an earlier entry names the same key`] : [];
  });

const policyProblems = ({ policies, use }: PolicyFile): string[] => {
  const rule = `expected the name of a policy: ${[...policies.keys()].join(', ')}`;
  return [
    ...(policies.has(use.default) ? [] : [`use.default: ${rule}`]),
    ...Object.values(use.keys).flatMap((name, index) =>
      policies.has(name) ? [] : [`use.keys: entry ${index + 1}: ${rule}`],
    ),
  ];
};

/** An unknown alias is quoted only if it is near to a known one: it may be a key in the wrong place. */
const aliasProblems = ({ policies, use }: PolicyFile, aliases: readonly string[]): string[] =>
  Object.entries(use.aliases).flatMap(([alias, name]) => {
    if (!aliases.includes(alias))
      return [`use.aliases: ${notConfiguredText('alias', alias, aliases)}; MODERATION_MODELS adds aliases`];
    return policies.has(name)
      ? []
      : [`use.aliases.${alias}: expected the name of a policy: ${[...policies.keys()].join(', ')}`];
  });

/** The error for a shadow's policy that is not defined. */
const unknownShadow = (names: readonly string[]): ConfigError =>
  new ConfigError([`MODERATION_SHADOW: policy: expected the name of a policy: ${names.join(', ')}`]);

/** Our policy for every request, and a built-in one for the shadow. Throws a `ConfigError` where no built-in policy has its name. */
export const withoutPolicyFile = (shadowName: string | undefined): PolicySelection => {
  if (shadowName === undefined) return onePolicy(DEFAULT_POLICY);
  const shadow = new Map(Object.entries(BUILT_IN_POLICIES)).get(shadowName);
  if (shadow === undefined) throw unknownShadow(Object.keys(BUILT_IN_POLICIES));
  return { ...onePolicy(DEFAULT_POLICY), shadow };
};

/**
 * Finds out which policy each request is judged by: that of its key, or else of its alias, or else the default one. A client
 * cannot leave the policy of its key by asking for another alias. Throws one `ConfigError` for names that nothing has, and for
 * policies of the file that no request would be judged by.
 */
export const selectPolicies = (
  file: PolicyFile,
  { aliases, keyDigests, shadow: shadowName }: PolicyUsers,
): PolicySelection => {
  const { policies, use, setting } = file;
  const fingerprints = Object.keys(use.keys);
  const wrong = [
    ...policyProblems(file),
    ...aliasProblems(file, aliases),
    ...keyProblems(fingerprints, keyDigests),
  ].map((problem) => `${setting}: ${problem}`);
  if (wrong.length > 0) throw new ConfigError(wrong);

  const named = (name: string | undefined): Policy | undefined => (name === undefined ? undefined : policies.get(name));
  const policyOfKey = keyDigests.map((digest) =>
    named(use.keys[fingerprints.find((fingerprint) => digest.startsWith(fingerprint)) ?? '']),
  );
  const policyOfAlias = new Map(aliases.map((alias) => [alias, named(use.aliases[alias] ?? use.default)]));
  const select = (alias: string, keyIndex: number): Policy => {
    const policy = policyOfKey[keyIndex] ?? policyOfAlias.get(alias) ?? named(use.default);
    if (policy === undefined) throw new TypeError('No default policy');
    return policy;
  };
  const shadow = named(shadowName);
  if (shadowName !== undefined && shadow === undefined) throw unknownShadow([...policies.keys()]);
  const used = new Set(keyDigests.flatMap((_, index) => aliases.map((alias) => select(alias, index))));
  const isUsed = (name: string): boolean => {
    const policy = policies.get(name);
    return policy !== undefined && (used.has(policy) || policy === shadow);
  };
  const idle = file.defined.filter((name) => !isUsed(name));
  if (idle.length > 0)
    throw new ConfigError(
      idle.map(
        (name) =>
          `${setting}: policies.${name}: no request is judged by it: name it in use.default, use.aliases or use.keys (a key's policy comes before an alias's), or remove it`,
      ),
    );
  return { policies: [...used], select, ...(shadow === undefined ? {} : { shadow }) };
};
