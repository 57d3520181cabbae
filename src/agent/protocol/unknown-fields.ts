import { editDistance } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';

/** The path of a name that is not read, and the known name that was most likely meant. */
type MisspelledField = { readonly path: string; readonly nearest: string };

/** Members of one object, or items of one list, that are inspected. The rest is ignored. */
const INSPECTED_LIMIT = 100;

/** Names that OpenCode's clients send, that have no effect here, and that resemble a known one. Older clients send `mode` for `agent`. */
const TOLERATED: ReadonlySet<string> = new Set(['mode']);

/** How many edits a mistyped name may be away from the known one: fewer for short names. */
const editLimit = (name: string): number => (name.length >= 5 ? 2 : name.length >= 3 ? 1 : 0);

const nearestField = (name: string, known: readonly string[]): string | undefined => {
  const limit = editLimit(name);
  const near = known.filter((other) => Math.abs(other.length - name.length) <= limit);
  return near
    .map((other) => ({ other, away: editDistance(name, other) }))
    .filter(({ away }) => away <= limit)
    .toSorted((left, right) => left.away - right.away)[0]?.other;
};

type Entries = Readonly<Record<string, unknown>>;

/** The known members of an object: of a variant those of the form that its tag selects, or else of all forms. */
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
 * The first name in a value that its schema does not have, but that resembles one that it has. Other unknown names are
 * ignored: clients send more than is read here.
 */
export const findMisspelledField = (schema: unknown, value: unknown, path = ''): MisspelledField | undefined => {
  if (!isRecord(schema)) return undefined;
  if (isRecord(schema.wrapped)) return findMisspelledField(schema.wrapped, value, path);
  if (Array.isArray(value)) {
    for (const [index, item] of value.slice(0, INSPECTED_LIMIT).entries()) {
      const found = findMisspelledField(schema.item, item, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const entries = entriesOf(schema, value);
  const known = Object.keys(entries);
  for (const name of Object.keys(value).slice(0, INSPECTED_LIMIT)) {
    const below = path === '' ? name : `${path}.${name}`;
    if (Object.hasOwn(entries, name)) {
      const found = findMisspelledField(entries[name], value[name], below);
      if (found !== undefined) return found;
    } else if (!TOLERATED.has(name)) {
      const meant = nearestField(name, known);
      if (meant !== undefined) return { path: below, nearest: meant };
    }
  }
  return undefined;
};
