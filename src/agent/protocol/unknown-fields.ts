import { editDistance } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';

/** A name that nobody reads, and that was most likely meant to be one that is read. */
export type NearMiss = { readonly path: string; readonly meant: string };

/** Members of one object, or items of one list: more have no end worth looking for. */
const LOOKED_AT = 100;

/** Names of OpenCode's own clients that do nothing here, and come close to one that does. `mode` is how older ones say `agent`. */
const TOLERATED: ReadonlySet<string> = new Set(['mode']);

/** How many changes a mistyped name may be away: of a short one two would leave nothing. */
const changesIn = (name: string): number => (name.length >= 5 ? 2 : name.length >= 3 ? 1 : 0);

const meantBy = (name: string, known: readonly string[]): string | undefined => {
  const limit = changesIn(name);
  const near = known.filter((other) => Math.abs(other.length - name.length) <= limit);
  return near
    .map((other) => ({ other, away: editDistance(name, other) }))
    .filter(({ away }) => away <= limit)
    .toSorted((left, right) => left.away - right.away)[0]?.other;
};

type Entries = Readonly<Record<string, unknown>>;

/** What may stand in an object: of several forms the one that its tag tells, or else all of them together. */
const entriesOf = (schema: Entries, value: Entries): Entries => {
  if (isRecord(schema.entries)) return schema.entries;
  if (!Array.isArray(schema.options)) return {};
  const forms: readonly Entries[] = schema.options.flatMap((option: unknown) =>
    isRecord(option) && isRecord(option.entries) ? [option.entries] : [],
  );
  const tag = typeof schema.key === 'string' ? schema.key : '';
  const chosen = forms.find((entries) => {
    const literal = entries[tag];
    return isRecord(literal) && literal.literal === value[tag];
  });
  return chosen ?? Object.assign({}, ...forms);
};

/**
 * The first name in a value that its schema does not have, and that is a slip away from one that it has. Names that come
 * close to none are left alone: clients send more than is read here.
 */
export const nearMiss = (schema: unknown, value: unknown, path = ''): NearMiss | undefined => {
  if (!isRecord(schema)) return undefined;
  if (isRecord(schema.wrapped)) return nearMiss(schema.wrapped, value, path);
  if (Array.isArray(value)) {
    for (const [index, item] of value.slice(0, LOOKED_AT).entries()) {
      const found = nearMiss(schema.item, item, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const entries = entriesOf(schema, value);
  const known = Object.keys(entries);
  for (const name of Object.keys(value).slice(0, LOOKED_AT)) {
    const below = path === '' ? name : `${path}.${name}`;
    if (Object.hasOwn(entries, name)) {
      const found = nearMiss(entries[name], value[name], below);
      if (found !== undefined) return found;
    } else if (!TOLERATED.has(name)) {
      const meant = meantBy(name, known);
      if (meant !== undefined) return { path: below, meant };
    }
  }
  return undefined;
};
