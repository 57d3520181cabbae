import * as v from 'valibot';
import { expectation } from '../../core/config.ts';
import { issueOf } from '../../core/http/body.ts';
import { createOrder } from '../document-order.ts';
import { IdOf, StoredMessage, StoredPart, StoredSession } from '../protocol/stored-schemas.ts';
import { SessionProblem } from '../session-problem.ts';

/** What a document of this kind says of itself. */
export const FORMAT = 'gatehouse-session';
export const FORMAT_VERSION = 1;

const Listed = v.strictObject({ id: IdOf('session'), messages: v.array(IdOf('message')) });
const Contents = v.strictObject({
  format: v.literal(FORMAT),
  version: v.literal(FORMAT_VERSION),
  sessions: v.pipe(v.array(Listed), v.minLength(1, 'expected at least one session')),
});
const Head = v.pick(Contents, ['format', 'version']);
const Line = v.variant('kind', [
  v.strictObject({ kind: v.literal('session'), session: StoredSession }),
  v.strictObject({ kind: v.literal('message'), message: StoredMessage }),
  v.strictObject({ kind: v.literal('part'), part: StoredPart }),
  /** The whole output of a tool call, of which the part holds only the beginning. */
  v.strictObject({ kind: v.literal('output'), partID: IdOf('part'), text: v.string() }),
  v.strictObject({ kind: v.literal('end') }),
]);

/**
 * The first line of a document: the sessions in it with their messages, all in order. The one that was asked for comes
 * first, and each one that work was handed to after its parent.
 */
export type Contents = v.InferOutput<typeof Contents>;

/** Another line: something that is kept. `end` is the last one, without which a document was cut off. */
export type DocumentLine = v.InferOutput<typeof Line>;
export type DocumentRecord = Exclude<DocumentLine, { readonly kind: 'end' }>;

/** A session outside its store, with those below it: lines of JSON, so that none has to fit into memory as a whole. */
export type SessionDocument = {
  readonly contents: Contents;
  /** In groups, to be gone through once. Throws a `SessionProblem` at the first line that is wrong. */
  readonly records: AsyncIterable<readonly DocumentRecord[]>;
};

/** Few enough to be kept at once beside a server that writes too. */
const GROUP_CHARS = 1024 * 1024;
const GROUP_RECORDS = 500;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new SessionProblem(['expected an object in JSON']);
  }
};

const complaintOf = (issue: v.BaseIssue<unknown>): string => {
  const { path } = issueOf(issue);
  const message = issue.expected === 'never' ? 'expected no such name' : issue.message;
  return path === '' ? message : `${path}: ${message}`;
};

/** What was given itself, not what a schema makes of it: names stay in their order. */
const checkedBy = <Schema extends v.GenericSchema>(schema: Schema, given: unknown): v.InferInput<Schema> => {
  if (v.is(schema, given)) return given;
  throw new SessionProblem(v.safeParse(schema, given, { message: expectation }).issues?.map(complaintOf) ?? []);
};

/** What goes wrong is told with the line that it goes wrong in. */
const atLine = <T>(number: number, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SessionProblem)) throw error;
    throw new SessionProblem(error.problems.map((problem) => `line ${number}: ${problem}`));
  }
};

const contentsIn = (text: string): Contents => {
  const given = parsed(text);
  // A document of another version is told by its version alone, not by all that is different in it.
  checkedBy(v.object(Head.entries), given);
  return checkedBy(Contents, given);
};

async function* recordsIn(
  lines: AsyncIterator<string>,
  order: ReturnType<typeof createOrder>,
): AsyncGenerator<readonly DocumentRecord[]> {
  let group: DocumentRecord[] = [];
  let chars = 0;
  try {
    for (let number = 2; ; number++) {
      const next = await lines.next();
      if (next.done === true) break;
      const line = atLine(number, () => {
        const read = checkedBy(Line, parsed(next.value));
        order.take(read);
        return read;
      });
      if (line.kind === 'end') continue;
      group.push(line);
      chars += next.value.length;
      if (chars < GROUP_CHARS && group.length < GROUP_RECORDS) continue;
      yield group;
      group = [];
      chars = 0;
    }
    order.finish();
    if (group.length > 0) yield group;
  } finally {
    await lines.return?.();
  }
}

/** Reads the beginning of a document. A `SessionProblem` says what is wrong with it, and where, but quotes none of it. */
export const readSessionDocument = async (lines: AsyncIterable<string>): Promise<SessionDocument> => {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    return atLine(1, () => {
      const contents = contentsIn(first.done === true ? '' : first.value);
      return { contents, records: recordsIn(iterator, createOrder(contents)) };
    });
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
};
