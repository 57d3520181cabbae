import * as v from 'valibot';
import { expectedText } from '../../core/config.ts';
import { issueOf } from '../../core/http/body.ts';
import { parseJsonValue } from '../../core/json.ts';
import { IdSchema, StoredMessage, StoredPart, StoredSession } from '../protocol/stored-schemas.ts';
import type { DeepReadonly } from '../protocol/types.ts';

const SHOWN_PROBLEMS = 10;

/** Why a session cannot be exported or imported: one line per problem, and at most `SHOWN_PROBLEMS` of them. */
export class SessionDocumentError extends Error {
  override readonly name = 'SessionDocumentError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const left = problems.length - SHOWN_PROBLEMS;
    const shown = [...problems.slice(0, SHOWN_PROBLEMS), ...(left > 0 ? [`and ${left} more`] : [])];
    super(shown.join('\n'));
    this.problems = shown;
  }
}

const expect = (isRight: boolean, problem: string): void => {
  if (!isRight) throw new SessionDocumentError([problem]);
};

const expectUnique = (ids: readonly string[], place: string): void =>
  expect(new Set(ids).size === ids.length, `${place}: expected each id once`);

/**
 * Checks the lines of a document against its contents, one after the other: sessions, their messages, and the parts and
 * outputs of those have to come in order. Throws a `SessionDocumentError` at the first line that does not.
 */
const createOrderCheck = ({ sessions }: DocumentContents) => {
  const ids = sessions.map(({ id }) => id);
  expectUnique(ids, 'sessions');
  expectUnique(
    sessions.flatMap(({ messages }) => messages),
    'messages',
  );
  let sessionCount = 0;
  let messageCount = 0;
  let messageID: string | undefined;
  let hasEnded = false;
  const parts = new Set<string>();
  const outputs = new Set<string>();
  const current = () => sessions[sessionCount - 1];
  const isComplete = (): boolean => messageCount === (current()?.messages.length ?? 0);

  const takeSession = (id: string, parentID: string | undefined): void => {
    expect(isComplete(), 'kind: expected a message, since the contents name another one');
    expect(id === ids[sessionCount], 'session.id: expected the id of the session that comes next in the contents');
    if (sessionCount === 0)
      expect(
        parentID === undefined || !ids.includes(parentID),
        'session.parentID: expected a session outside the document',
      );
    else {
      const isBefore = parentID !== undefined && ids.slice(0, sessionCount).includes(parentID);
      expect(isBefore, 'session.parentID: expected a session that stands before it');
    }
    sessionCount += 1;
    messageCount = 0;
    messageID = undefined;
  };
  const takeMessage = (id: string, sessionID: string): void => {
    const isNext = id === current()?.messages[messageCount];
    expect(isNext, 'message.id: expected the id of the message that comes next in the contents');
    expect(sessionID === current()?.id, 'message.sessionID: expected the id of the session that holds it');
    messageCount += 1;
    messageID = id;
    parts.clear();
    outputs.clear();
  };
  return {
    take(line: DocumentLine): void {
      expect(!hasEnded, 'expected nothing after the end');
      switch (line.kind) {
        case 'session':
          takeSession(line.session.id, line.session.parentID);
          break;
        case 'message':
          takeMessage(line.message.id, line.message.sessionID);
          break;
        case 'part':
          expect(line.part.messageID === messageID, 'part.messageID: expected the id of the message that holds it');
          expect(line.part.sessionID === current()?.id, 'part.sessionID: expected the id of the session that holds it');
          expect(!parts.has(line.part.id), 'part.id: expected an id that no other part of the message has');
          parts.add(line.part.id);
          break;
        case 'output':
          expect(
            parts.has(line.partID) && !outputs.has(line.partID),
            'partID: expected a part of the message before it, each at most once',
          );
          outputs.add(line.partID);
          break;
        case 'end':
          expect(
            isComplete() && sessionCount === sessions.length,
            'expected all that the contents name before the end',
          );
          hasEnded = true;
          break;
        default:
          line satisfies never;
      }
    },
    /** After the last line. */
    finish: (): void =>
      expect(hasEnded, 'expected more: the document ends before its last line, as one that was cut off'),
  };
};

/** The format and version in the first line of a document. */
export const DOCUMENT_FORMAT = 'gatehouse-session';
export const DOCUMENT_VERSION = 1;

const Listed = v.strictObject({ id: IdSchema('session'), messages: v.array(IdSchema('message')) });
const DocumentContents = v.strictObject({
  format: v.literal(DOCUMENT_FORMAT),
  version: v.literal(DOCUMENT_VERSION),
  sessions: v.pipe(v.array(Listed), v.minLength(1, 'expected at least one session')),
});
const Head = v.pick(DocumentContents, ['format', 'version']);
const Line = v.variant('kind', [
  v.strictObject({ kind: v.literal('session'), session: StoredSession }),
  /** `isOwed`: a prompt whose answer had not ended. */
  v.strictObject({ kind: v.literal('message'), message: StoredMessage, isOwed: v.exactOptional(v.literal(true)) }),
  v.strictObject({ kind: v.literal('part'), part: StoredPart }),
  /** The whole output of a tool call, of which the part holds only the beginning. */
  v.strictObject({ kind: v.literal('output'), partID: IdSchema('part'), text: v.string() }),
  v.strictObject({ kind: v.literal('end') }),
]);

/**
 * The first line of a document: the ids of its sessions and of their messages, all in order. The exported session comes
 * first, and each task's session after its parent.
 */
export type DocumentContents = v.InferOutput<typeof DocumentContents>;

/** Any later line: something stored, or the last line `end`. Without that the document was cut off. */
export type DocumentLine = DeepReadonly<v.InferOutput<typeof Line>>;
/** A line with something stored. */
export type DocumentRecord = Exclude<DocumentLine, { readonly kind: 'end' }>;

/** A session outside its store, with those below it: lines of JSON, so that it need not fit into memory as a whole. */
export type SessionDocument = {
  readonly contents: DocumentContents;
  /** In groups, to be iterated once. Throws a `SessionDocumentError` at the first wrong line. */
  readonly records: AsyncIterable<readonly DocumentRecord[]>;
};

/** The size of a group: one commit, small enough for a server that writes beside it. */
const GROUP_CHARS = 1024 * 1024;
const GROUP_RECORDS = 500;

const parseJson = (text: string): unknown => {
  const value = parseJsonValue(text);
  if (value === undefined) throw new SessionDocumentError(['expected an object in JSON']);
  return value;
};

const toProblem = (issue: v.BaseIssue<unknown>): string => {
  const { path } = issueOf(issue);
  const message = issue.expected === 'never' ? 'expected no such name' : issue.message;
  return path === '' ? message : `${path}: ${message}`;
};

/** The given value itself if it fits the schema: the schema's output would have its names in another order. */
const checkAgainst = <Schema extends v.GenericSchema>(schema: Schema, given: unknown): v.InferInput<Schema> => {
  if (v.is(schema, given)) return given;
  throw new SessionDocumentError(v.safeParse(schema, given, { message: expectedText }).issues?.map(toProblem) ?? []);
};

/** Adds the line number to errors of `read`. */
const withLineNumber = <T>(number: number, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SessionDocumentError)) throw error;
    throw new SessionDocumentError(error.problems.map((problem) => `line ${number}: ${problem}`));
  }
};

const parseContents = (text: string): DocumentContents => {
  const given = parseJson(text);
  // For another version the version is the only problem, not all that differs in it.
  checkAgainst(v.object(Head.entries), given);
  return checkAgainst(DocumentContents, given);
};

async function* readRecords(
  lines: AsyncIterator<string>,
  order: ReturnType<typeof createOrderCheck>,
): AsyncGenerator<readonly DocumentRecord[]> {
  let group: DocumentRecord[] = [];
  let chars = 0;
  try {
    for (let number = 2; ; number++) {
      const next = await lines.next();
      if (next.done === true) break;
      const line = withLineNumber(number, () => {
        const read = checkAgainst(Line, parseJson(next.value));
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

/** Reads the beginning of a document. A `SessionDocumentError` says what is wrong and where, and quotes nothing. */
export const readSessionDocument = async (lines: AsyncIterable<string>): Promise<SessionDocument> => {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    return withLineNumber(1, () => {
      const contents = parseContents(first.done === true ? '' : first.value);
      return { contents, records: readRecords(iterator, createOrderCheck(contents)) };
    });
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
};
