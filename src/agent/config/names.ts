import { nearestName } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import type { ModelRef } from '../protocol/types.ts';

/** A path in a configuration: names, and indexes of lists. */
export type ConfigPath = readonly (string | number)[];

/** An error or a warning about one setting. The text says what was expected, and never the value. */
export type ConfigIssue = { readonly path: ConfigPath; readonly text: string };

/** The warning about a setting of other programs, which is not supported here. */
export const unsupportedText = (why: string): string => `read for compatibility, without effect: ${why}`;
/** The warning about a setting that has no effect because of other settings. */
export const ineffectiveText = (why: string): string => `without effect: ${why}`;

/** Longer names are cut: they are mistakes. */
export const NAME_LIMIT_CHARS = 80;

/** A name from a file in quotes, shortened to 80 characters. */
export const quoteName = (name: string): string =>
  JSON.stringify(name.length > NAME_LIMIT_CHARS ? `${name.slice(0, NAME_LIMIT_CHARS)}...` : name);

/** A path as errors show it: `provider.x.models["gpt-4.1"].limit.context`. */
export const formatPath = (path: ConfigPath): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[\w$@/:*-]{1,80}$/.test(step)) return `[${quoteName(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('') || 'top level';

/** Names of other versions and other programs, with the names here. */
const RENAMED: Readonly<Record<string, string>> = { mode: 'agent', tools: 'permission', maxSteps: 'steps' };

/** The known name that was most likely meant. */
export const nearestKnownName = (name: string, known: readonly string[]): string => {
  const renamed = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
  if (renamed !== undefined && known.includes(renamed)) return renamed;
  return nearestName(name.slice(0, NAME_LIMIT_CHARS), known) ?? '';
};

/** Whether a path lies at or below another. */
export const isWithin = (path: ConfigPath, outer: ConfigPath): boolean =>
  outer.length <= path.length && outer.every((step, index) => step === path[index]);

/** The object under a name, or an empty one. For files that are not validated yet. */
export const objectField = (value: unknown, name: string): Readonly<Record<string, unknown>> => {
  const inner = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isRecord(inner) ? inner : {};
};

/** The text under a name, if it is one. */
export const textField = (value: unknown, name: string): string | undefined => {
  const inner = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof inner === 'string' ? inner : undefined;
};

/** Parses `provider/model`: the provider ends at the first slash. */
export const parseModelRef = (name: string): ModelRef => {
  const slash = name.indexOf('/');
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) };
};

/** The names of all models of a configuration, valid or not. */
export const modelNames = (file: unknown): readonly string[] =>
  Object.entries(objectField(file, 'provider')).flatMap(([id, provider]) =>
    Object.keys(objectField(provider, 'models')).map((key) => `${id}/${key}`),
  );

/** The prefix of the names of a server's tools. All characters but letters, digits, `_` and `-` become `_`. */
export const toolPrefix = (server: string): string => `${server.replace(/[^\w-]/g, '_')}_`;

const EFFORTS = ['low', 'medium', 'high'] as const;

/** The variants of a model: those in the file that are not disabled, or three efforts for a model that reasons. */
export const variantNames = (model: unknown): readonly string[] => {
  if (!isRecord(model)) return [];
  if (!isRecord(model.variants)) return model.reasoning === true || model.reasoning === 'split' ? EFFORTS : [];
  return Object.entries(model.variants)
    .filter(([, variant]) => !(isRecord(variant) && variant.disabled === true))
    .map(([name]) => name);
};
