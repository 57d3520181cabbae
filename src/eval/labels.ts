import { EVAL_CATEGORIES, type Label, labelFor } from './category.ts';
import { CONTAINERS, type LabelChoice, unknownLabel } from './choice.ts';
import { EvaluationError } from './errors.ts';
import { type EvalRow, isObject } from './row.ts';

/** Where to find things in a row; what is left out is detected. */
export type Fields = {
  readonly textField?: string | undefined;
  readonly idField?: string | undefined;
  readonly groupField?: string | undefined;
  readonly choices?: readonly LabelChoice[] | undefined;
};

/** One text to judge. A label that is not in `known` is unknown: neither positive nor negative. */
export type EvalItem = {
  readonly id: string;
  readonly text: string;
  /** What kind of text it is, in the words of the file: news, code, tool output. */
  readonly group?: string;
  readonly known: ReadonlyMap<Label, boolean>;
};

/** Labels a row has, those without a value included. */
type Found = Map<Label, boolean | undefined>;

const ID_LIMIT_CHARS = 200;
const TEXT_FIELDS = ['text', 'prompt'];
const TRUTHS = new Map<string, boolean | undefined>([
  ['', undefined],
  ...['1', '1.0', 'true', 'unsafe'].map((word) => [word, true] as const),
  ...['0', '0.0', 'false', 'safe'].map((word) => [word, false] as const),
]);

const truthOf = (value: unknown, where: string): boolean | undefined => {
  if (value === null || value === undefined) return undefined;
  const word = typeof value === 'object' ? 'an object' : String(value).trim().toLowerCase();
  if (TRUTHS.has(word)) return TRUTHS.get(word);
  throw new EvaluationError(
    `${where}: expected true, false, 0, 1, safe or unsafe (--labels chooses the fields that are labels)`,
  );
};

/** The first source of a label that has a value wins. */
const put = (found: Found, label: Label, truth: boolean | undefined): void => {
  if (found.get(label) === undefined) found.set(label, truth);
};

/** Reads a field that holds many labels: an object of truths, or a list of those that are positive. */
const readContainer = (value: unknown, where: string, wanted?: ReadonlySet<Label>): Found => {
  const found: Found = new Map();
  const isList = Array.isArray(value);
  if (value === null || value === undefined) return found;
  if (!isList && !isObject(value)) {
    throw new EvaluationError(`${where}: expected an object of labels or a list of the positive ones`);
  }
  if (isList) for (const category of EVAL_CATEGORIES) found.set(category, false);
  const entries = isList ? value.map((name): [string, unknown] => [String(name), true]) : Object.entries(value);
  for (const [name, entry] of entries) {
    const label = labelFor(name);
    // With chosen labels, other names in the set are ignored.
    if (label === undefined && wanted === undefined) throw unknownLabel(where, name);
    if (label !== undefined) found.set(label, truthOf(entry, `${where}, label "${label}"`));
  }
  return new Map([...found].filter(([label]) => wanted?.has(label) ?? true));
};

const detect = ({ fields, where }: EvalRow, reserved: readonly string[], wanted?: ReadonlySet<Label>): Found => {
  const container = CONTAINERS.find((name) => Object.hasOwn(fields, name));
  const found: Found =
    container === undefined ? new Map() : readContainer(fields[container], `${where}, field "${container}"`, wanted);
  for (const [field, value] of Object.entries(fields)) {
    const label = reserved.includes(field) ? undefined : labelFor(field);
    if (label === undefined || wanted?.has(label) === false) continue;
    put(found, label, truthOf(value, `${where}, field "${field}"`));
  }
  return found;
};

const quoted = (names: readonly string[], between: string): string => names.map((name) => `"${name}"`).join(between);

const missing = ({ where, fields }: EvalRow, what: string): EvaluationError =>
  new EvaluationError(`${where}: ${what}, found ${quoted(Object.keys(fields).slice(0, 20), ', ')}`);

const choose = (row: EvalRow, reserved: readonly string[], choices: readonly LabelChoice[]): Found => {
  const wanted = new Set(choices.flatMap((choice) => (choice.kind === 'label' ? [choice.label] : [])));
  const found: Found = new Map();
  for (const choice of choices) {
    if (choice.kind === 'label') continue;
    const { field } = choice;
    // In a table every row has every column, so an absent one is a mistake; in JSON it is a label that is not known.
    if (row.isTable && !Object.hasOwn(row.fields, field)) throw missing(row, `expected a column "${field}"`);
    const where = `${row.where}, field "${field}"`;
    if (choice.kind === 'field') put(found, choice.label, truthOf(row.fields[field], where));
    else for (const [label, truth] of readContainer(row.fields[field], where)) put(found, label, truth);
  }
  if (wanted.size > 0) for (const [label, truth] of detect(row, reserved, wanted)) put(found, label, truth);
  for (const label of wanted) {
    if (row.isTable && !found.has(label)) throw missing(row, `expected a column for the label "${label}"`);
  }
  return found;
};

/** The whole is positive with any known category, and negative only when at least one is known and none positive. */
const withWhole = (found: Found): ReadonlyMap<Label, boolean> => {
  const known = new Map<Label, boolean>();
  for (const [label, truth] of found) if (truth !== undefined) known.set(label, truth);
  if (!known.has('flagged') && known.size > 0) known.set('flagged', [...known.values()].includes(true));
  return known;
};

const idOf = (row: EvalRow, idField: string | undefined): string => {
  const id = row.fields[idField ?? 'id'];
  if ((typeof id === 'string' && id !== '') || typeof id === 'number') return String(id).slice(0, ID_LIMIT_CHARS);
  if (idField !== undefined) throw missing(row, `expected text or a number in the field "${idField}"`);
  return String(row.line);
};

const DEFAULT_GROUP_FIELD = 'group';

const groupOf = ({ fields }: EvalRow, groupField = DEFAULT_GROUP_FIELD): { readonly group?: string } => {
  const group = fields[groupField];
  return typeof group === 'string' && group !== '' ? { group: group.slice(0, ID_LIMIT_CHARS) } : {};
};

/** Reads one row: its text, its id (else its line number) and what is known about it. */
export const parseItem = (row: EvalRow, { textField, idField, groupField, choices }: Fields): EvalItem => {
  const names = textField === undefined ? TEXT_FIELDS : [textField];
  const name = names.find((field) => typeof row.fields[field] === 'string');
  const text = name === undefined ? undefined : row.fields[name];
  if (name === undefined || typeof text !== 'string') {
    throw missing(row, `expected text in the field ${quoted(names, ' or ')} (--text-field)`);
  }
  if (name === idField)
    throw new EvaluationError('--id-field: expected another field than the text, which is not to be kept');
  if (name === groupField)
    throw new EvaluationError('--group-field: expected another field than the text, which is not to be shown');
  const reserved = [name, idField ?? 'id', groupField ?? DEFAULT_GROUP_FIELD];
  const found = choices === undefined ? detect(row, reserved) : choose(row, reserved, choices);
  return { id: idOf(row, idField), text, ...groupOf(row, groupField), known: withWhole(found) };
};

/** The items of a file's first `limit` rows. */
export async function* parseItems(
  rows: AsyncIterable<EvalRow>,
  fields: Fields,
  limit: number,
): AsyncGenerator<EvalItem> {
  let count = 0;
  for await (const row of rows) {
    yield parseItem(row, fields);
    count += 1;
    if (count === limit) return;
  }
}
