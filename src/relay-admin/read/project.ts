import { isRecord } from '../../core/json.ts';
import { RelayError } from '../errors/errors.ts';
import { formatUnits, unitsFromNumber } from '../money.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Takes out of a value what may be shown. Nothing at all is how it drops the value. */
export type Projection = (value: unknown) => Json | undefined;

/** Takes what may be shown out of a whole answer. Throws the `upstream-contract` problem when it is of another shape. */
export type AnswerReader = (data: unknown) => Json;

/** How deep data may go, and what stands where it goes deeper. */
export const MAX_DEPTH = 32;
export const TOO_DEEP = '[too deep]';

/** More than any result holds; what lies behind is not even looked at. */
export const MAX_LIST_LENGTH = 20_000;

/** A text, a number, a boolean or null, as it is. */
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

/** A field that only ever holds yes or no. */
export const flag: Projection = (value) => (typeof value === 'boolean' ? value : undefined);

const isPresent = (part: Json | undefined): part is Json => part !== undefined;

/** A list of what the projection leaves of the items. */
export const listOf =
  (item: Projection): Projection =>
  (value) => {
    if (value === null) return null;
    return Array.isArray(value) ? value.slice(0, MAX_LIST_LENGTH).map(item).filter(isPresent) : undefined;
  };

/** A map from names that the relay chooses, such as models or ids. `redact` looks at the names. */
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

/** The listed fields and no others: what a later release of the relay adds stays hidden. */
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

const unexpectedShape = (): RelayError => new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });

/** An answer that is one thing, with at least one field that is known. */
export const recordReader =
  (thing: Projection): AnswerReader =>
  (data) => {
    const shown = isRecord(data) ? thing(data) : undefined;
    if (!isRecord(shown) || Object.keys(shown).length === 0) throw unexpectedShape();
    return shown;
  };

/** An answer that is a list. The relay's way to say that it is empty may be null. */
export const listReader =
  (item: Projection): AnswerReader =>
  (data) => {
    const items = data ?? [];
    if (!Array.isArray(items) || !items.every(isRecord)) throw unexpectedShape();
    return listOf(item)(items) ?? [];
  };

/** An answer that is a page of a longer list. */
export const pageReader = (item: Projection, more: Readonly<Record<string, Projection>> = {}): AnswerReader => {
  const items = listReader(item);
  const frame = fields('total page page_size pages', more);
  return (data) => {
    if (!isRecord(data) || !Object.hasOwn(data, 'items')) throw unexpectedShape();
    return { items: items(data.items), ...Object.fromEntries(Object.entries(frame(data) ?? {})) };
  };
};
