import { isRecord } from '../../core/record.ts';
import type { ModelRef } from '../session.ts';

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
