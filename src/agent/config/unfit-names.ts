import { isRecord } from '../../core/record.ts';
import { type ConfigPath, type ConfigProblem, meantName, quoted, withoutEffect } from './names.ts';
import { inertBecause } from './schema-values.ts';

/** What a schema does not say of a value by itself: `inert` settings have no effect here, the rest are problems. */
export type Unfit = ConfigProblem & { readonly kind: 'unknown-name' | 'list' | 'inert' };

/** The schema that stands behind those that only lead to it. */
const schemaFor = (schema: unknown, value: unknown): Readonly<Record<string, unknown>> => {
  if (!isRecord(schema)) return {};
  if (inertBecause(schema) !== undefined) return schema;
  if (isRecord(schema.wrapped)) return schemaFor(schema.wrapped, value);
  if (typeof schema.getter === 'function') return schemaFor(schema.getter(value), value);
  if (schema.type !== 'variant' || !Array.isArray(schema.options) || !isRecord(value)) return schema;
  const options: readonly unknown[] = schema.options;
  const chosen = options.find(
    (option) =>
      isRecord(option) &&
      isRecord(option.entries) &&
      isRecord(option.entries.type) &&
      option.entries.type.literal === value.type,
  );
  return schemaFor(chosen, value);
};

/**
 * Goes through a value along its schema: names that the schema does not have, settings without effect, and lists where
 * objects belong, which valibot takes for objects whose names are numbers.
 */
export function* unfitNames(anySchema: unknown, value: unknown, path: ConfigPath = []): Generator<Unfit> {
  const schema = schemaFor(anySchema, value);
  const why = inertBecause(schema);
  if (why !== undefined) {
    yield { kind: 'inert', path, text: withoutEffect(why) };
    return;
  }
  const entries = isRecord(schema.entries) ? schema.entries : undefined;
  const isTable = entries !== undefined || schema.type === 'record' || schema.type === 'variant';
  if (isTable && Array.isArray(value)) yield { kind: 'list', path, text: 'expected an object' };
  if (!isTable || !isRecord(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const next = entries === undefined ? schema.value : Object.hasOwn(entries, name) ? entries[name] : schema.rest;
    if (next !== undefined) yield* unfitNames(next, inner, [...path, name]);
    else if (schema.type === 'object') yield { kind: 'unknown-name', path, text: unknownName(name, entries ?? {}) };
  }
}

/** A setting without effect is never what was meant. */
const unknownName = (name: string, entries: Readonly<Record<string, unknown>>): string => {
  const known = Object.keys(entries).filter((other) => inertBecause(entries[other]) === undefined);
  return `unknown name ${quoted(name)}, the nearest known one is ${quoted(meantName(name, known))}`;
};
