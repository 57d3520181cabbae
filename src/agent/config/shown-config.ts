import { isRecord } from '../../core/record.ts';
import type { ConfigPath } from './problem.ts';
import { isSecretName, REDACTED, withoutSecrets } from './secret-look.ts';
import { hasReference } from './substitute.ts';

type Shown = Readonly<Record<string, unknown>>;

/** Where names are made up by whoever writes the file, and say nothing of what stands under them. `*` is any one name. */
const OWN_NAMES = [
  'provider.*',
  'provider.*.models.*',
  'provider.*.models.*.variants.*',
  'agent.*',
  'mcp.*',
  'permission.*',
  'permission.*.*',
  'agent.*.permission.*',
  'agent.*.permission.*.*',
].map((path) => path.split('.'));

const isOwnName = (path: ConfigPath): boolean =>
  OWN_NAMES.some(
    (pattern) => pattern.length === path.length && pattern.every((step, at) => step === '*' || step === path[at]),
  );

/** Maps of which every value counts as secret. */
const isSealed = (name: string): boolean => name === 'headers' || name === 'environment';

const sealed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sealed);
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sealed(inner)]));
  return typeof value === 'string' || typeof value === 'number' ? REDACTED : value;
};

const FLAG = /^--?([\w-]{1,80})$/;
const isSecretFlag = (flag: string): boolean => /^(?:h|headers?)$/i.test(flag) || isSecretName(flag);

/** The items of a list, which may be the arguments of a program: what follows `--token` is one. */
const shownItems = (items: readonly unknown[], path: ConfigPath): unknown =>
  items.map((item, index) => {
    const before = items[index - 1];
    const flag = typeof before === 'string' ? FLAG.exec(before)?.[1] : undefined;
    return flag !== undefined && isSecretFlag(flag) ? REDACTED : shown(item, [...path, index]);
  });

const shownUnder = (name: string, value: unknown, path: ConfigPath): unknown => {
  if (isOwnName(path)) return shown(value, path);
  return isSealed(name) || isSecretName(name) ? sealed(value) : shown(value, path);
};

const shown = (value: unknown, path: ConfigPath): unknown => {
  if (typeof value === 'string') return hasReference(value) ? REDACTED : withoutSecrets(value);
  if (Array.isArray(value)) return shownItems(value, path);
  return isRecord(value) ? shownTable(value, path) : value;
};

const shownTable = (table: Shown, path: ConfigPath): Shown =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, shownUnder(name, value, [...path, name])]));

/**
 * A configuration as it was written, without secrets: keys, header values, environments, whatever stands under a name
 * that sounds like a secret or looks like one, and every text that takes something from a variable or a file.
 */
export const shownConfig = (written: Shown): Shown => shownTable(written, []);
