import { parseJsonValue } from '../core/json.ts';
import { EvaluationError } from './errors.ts';

/** One row of a labelled file, in no label format yet. `where` names it in messages: `data.jsonl line 7`. */
export type EvalRow = {
  readonly where: string;
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** A table has every column in every row; a JSON object may omit fields. */
  readonly isTable: boolean;
};

/** A CSV record before its header is known. `line` is where it begins. */
export type TableRecord = { readonly line: number; readonly cells: readonly string[] };

/** Whether a JSON value is an object: neither a list nor null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Splits at `\n` alone: a row may hold U+2028, which line readers take for a line's end. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<{ line: number; text: string }> {
  let line = 0;
  let rest = '';
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) {
      line += 1;
      yield { line, text };
    }
  }
  if (rest !== '') yield { line: line + 1, text: rest };
}

const objectFrom = (text: string, where: string): Record<string, unknown> => {
  const value = parseJsonValue(text);
  if (value === undefined) throw new EvaluationError(`${where}: expected JSON`);
  if (!isObject(value)) throw new EvaluationError(`${where}: expected a JSON object`);
  return value;
};

/** The rows of a JSONL file. Blank lines are passed over, but counted. */
export async function* jsonRows(chunks: AsyncIterable<string>, file: string): AsyncGenerator<EvalRow> {
  for await (const { line, text } of linesOf(chunks)) {
    const where = `${file} line ${line}`;
    if (text.trim() !== '') yield { where, line, fields: objectFrom(text, where), isTable: false };
  }
}

const headerFrom = ({ line, cells }: TableRecord, file: string): readonly string[] => {
  const names = cells.map((cell) => cell.trim());
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new EvaluationError(`${file} line ${line}: two columns are named "${twice.slice(0, 60)}"`);
  return names;
};

/** The rows of a table whose first record is its header. Empty lines are passed over; columns without a name are dropped. */
export async function* tableRows(records: AsyncIterable<TableRecord>, file: string): AsyncGenerator<EvalRow> {
  let header: readonly string[] | undefined;
  for await (const record of records) {
    const { line, cells } = record;
    if (cells.length === 1 && cells[0]?.trim() === '') continue;
    if (header === undefined) {
      header = headerFrom(record, file);
      continue;
    }
    const where = `${file} line ${line}`;
    if (cells.length !== header.length) {
      throw new EvaluationError(`${where}: expected ${header.length} cells, as in the header, found ${cells.length}`);
    }
    const entries = header.map((name, index) => [name, cells[index] ?? ''] as const);
    yield { where, line, fields: Object.fromEntries(entries.filter(([name]) => name !== '')), isTable: true };
  }
}
