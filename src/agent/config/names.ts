import { nearestName } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import type { ModelRef } from '../protocol/types.ts';

/** Where something is in a configuration: names and, within lists, numbers. */
export type ConfigPath = readonly (string | number)[];

/** Something wrong at one place. The text says what was expected, and never what was there. */
export type ConfigProblem = { readonly path: ConfigPath; readonly text: string };

/** What is said of a setting of other programs. */
export const withoutEffect = (why: string): string => `read for compatibility, without effect: ${why}`;
/** What is said of a setting of ours that does nothing as things stand. */
export const withoutEffectNow = (why: string): string => `without effect: ${why}`;

const NAME_LIMIT_CHARS = 80;

/** A name from a file in quotes, cut where nobody reads on. */
export const quoted = (name: string): string =>
  JSON.stringify(name.length > NAME_LIMIT_CHARS ? `${name.slice(0, NAME_LIMIT_CHARS)}...` : name);

/** A path as it is told: `provider.x.models["gpt-4.1"].limit.context`. */
export const pathText = (path: ConfigPath): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[\w$@/:*-]{1,80}$/.test(step)) return `[${quoted(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('') || 'top level';

/** Names of other versions and other tools, and what stands for them here. */
const CALLED_NOW: Readonly<Record<string, string>> = { mode: 'agent', tools: 'permission', maxSteps: 'steps' };

/** The known name that was most likely meant. */
export const meantName = (name: string, known: readonly string[]): string => {
  const renamed = Object.hasOwn(CALLED_NOW, name) ? CALLED_NOW[name] : undefined;
  if (renamed !== undefined && known.includes(renamed)) return renamed;
  return nearestName(name.slice(0, NAME_LIMIT_CHARS), known) ?? '';
};

/** Whether a path lies at or below another. */
export const isWithin = (path: ConfigPath, outer: ConfigPath): boolean =>
  outer.length <= path.length && outer.every((step, index) => step === path[index]);

/** What stands under a name, if that is an object. For a file of which nobody yet knows whether it is right. */
export const tableIn = (value: unknown, name: string): Readonly<Record<string, unknown>> => {
  const inner = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isRecord(inner) ? inner : {};
};

/** What stands under a name, if that is a text. */
export const textIn = (value: unknown, name: string): string | undefined => {
  const inner = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof inner === 'string' ? inner : undefined;
};

/** A model by its name: everything before the first slash is the provider. */
export const modelRef = (name: string): ModelRef => {
  const slash = name.indexOf('/');
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) };
};

/** The names of all models that a configuration has, right or wrong. */
export const modelNames = (file: unknown): readonly string[] =>
  Object.entries(tableIn(file, 'provider')).flatMap(([id, provider]) =>
    Object.keys(tableIn(provider, 'models')).map((key) => `${id}/${key}`),
  );

const EFFORTS = ['low', 'medium', 'high'] as const;

/** The variants of a model: those that are written and not disabled, or the three efforts of one that reasons. */
export const variantNames = (model: unknown): readonly string[] => {
  if (!isRecord(model)) return [];
  if (!isRecord(model.variants)) return model.reasoning === true || model.reasoning === 'split' ? EFFORTS : [];
  return Object.entries(model.variants)
    .filter(([, variant]) => !(isRecord(variant) && variant.disabled === true))
    .map(([name]) => name);
};
