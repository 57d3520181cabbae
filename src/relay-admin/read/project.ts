import { isRecord } from '../../core/json.ts';
import { unexpectedShape } from '../errors/errors.ts';
import { formatUnits, unitsFromNumber } from '../money.ts';

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Copies from a value what may be shown; `undefined` drops the value. */
export type Projection = (value: unknown) => Json | undefined;

/** Copies from a whole answer what may be shown. Throws `upstream-contract` when the answer has another shape. */
export type AnswerReader = (data: unknown) => Json;

/** The deepest nesting of data that is shown. */
export const MAX_DEPTH = 32;
/** Replaces data that is nested deeper. */
export const TOO_DEEP = '[too deep]';

/** More items than any result holds; the rest is not read. */
const MAX_LIST_LENGTH = 20_000;

/** A text, a number, a boolean or null, unchanged. */
export const plain: Projection = (value) => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return value === null || typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
};

/** Money as a decimal string. */
export const amount: Projection = (value) => {
  if (value === null) return null;
  const units = typeof value === 'number' ? unitsFromNumber(value) : undefined;
  return units === undefined ? undefined : formatUnits(units);
};

/** A boolean field; any other value is dropped. */
export const flag: Projection = (value) => (typeof value === 'boolean' ? value : undefined);

const isPresent = (part: Json | undefined): part is Json => part !== undefined;

/** A list of projected items. */
export const listOf =
  (item: Projection): Projection =>
  (value) => {
    if (value === null) return null;
    return Array.isArray(value) ? value.slice(0, MAX_LIST_LENGTH).map(item).filter(isPresent) : undefined;
  };

/** A map whose names the relay chooses, such as models or ids. `redactData` checks the names. */
export const mapOf =
  (part: Projection): Projection =>
  (value) => {
    if (value === null) return null;
    if (!isRecord(value)) return undefined;
    const parts = Object.entries(value)
      .slice(0, MAX_LIST_LENGTH)
      .map(([name, inner]) => [name, part(inner)] as const);
    return Object.fromEntries(parts.flatMap(([name, inner]) => (inner === undefined ? [] : [[name, inner] as const])));
  };

/** An object with the listed fields only: fields that a later release of the relay adds stay hidden. */
export const fields = (names: string, others: Readonly<Record<string, Projection>> = {}): Projection => {
  const known: readonly (readonly [string, Projection])[] = [
    ...names
      .split(/\s+/)
      .filter((name) => name !== '')
      .map((name) => [name, plain] as const),
    ...Object.entries(others),
  ];
  return (value) => {
    if (value === null) return null;
    if (!isRecord(value)) return undefined;
    const shown: Record<string, Json> = {};
    for (const [name, projection] of known) {
      const part = Object.hasOwn(value, name) ? projection(value[name]) : undefined;
      if (part !== undefined) shown[name] = part;
    }
    return shown;
  };
};

/** Reads an answer that is one record with at least one known field. */
export const recordReader =
  (thing: Projection): AnswerReader =>
  (data) => {
    const shown = isRecord(data) ? thing(data) : undefined;
    if (!isRecord(shown) || Object.keys(shown).length === 0) throw unexpectedShape();
    return shown;
  };

/** Reads an answer that is a list. The relay may send null for an empty list. */
export const listReader =
  (item: Projection): AnswerReader =>
  (data) => {
    const items = data ?? [];
    if (!Array.isArray(items) || !items.every(isRecord)) throw unexpectedShape();
    return listOf(item)(items) ?? [];
  };

/** Reads an answer that is a page of a longer list. */
export const pageReader = (item: Projection, more: Readonly<Record<string, Projection>> = {}): AnswerReader => {
  const items = listReader(item);
  const frame = fields('total page page_size pages', more);
  return (data) => {
    if (!isRecord(data) || !Object.hasOwn(data, 'items')) throw unexpectedShape();
    return { items: items(data.items), ...Object.fromEntries(Object.entries(frame(data) ?? {})) };
  };
};
