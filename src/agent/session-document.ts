import * as v from 'valibot';
import { issueOf } from '../core/body.ts';
import { expectation } from '../core/config.ts';
import { displacedIn } from './displaced.ts';
import { SessionProblem } from './session-problem.ts';
import { IdOf, StoredMessage, StoredPart, StoredSession } from './stored-schema.ts';

/** What a document of this kind says of itself. */
export const FORMAT = 'gatehouse-session';
export const FORMAT_VERSION = 1;

const KeptMessage = v.strictObject({
  info: StoredMessage,
  parts: v.array(StoredPart),
  /** The whole outputs of tool calls, of which the parts hold only the beginnings. */
  outputs: v.array(v.strictObject({ partID: IdOf('part'), text: v.string() })),
});
const KeptSession = v.strictObject({ info: StoredSession, messages: v.array(KeptMessage) });
const Document = v.strictObject({
  format: v.literal(FORMAT),
  version: v.literal(FORMAT_VERSION),
  sessions: v.pipe(v.array(KeptSession), v.minLength(1, 'expected at least one session')),
});

export type KeptMessage = v.InferOutput<typeof KeptMessage>;
export type KeptSession = v.InferOutput<typeof KeptSession>;

/** A session outside its store: the one that was asked for comes first, and each one that work was handed to after its parent. */
export type SessionDocument = v.InferOutput<typeof Document>;

const Head = v.pick(Document, ['format', 'version']);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new SessionProblem(['expected a document in JSON']);
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

/** The document in a text. A `SessionProblem` says all that is wrong with it, and where, but quotes none of it. */
export const readSessionDocument = (text: string): SessionDocument => {
  const given = parsed(text);
  // A document of another version is told by its version alone, not by all that is different in it.
  checkedBy(v.object(Head.entries), given);
  const document = checkedBy(Document, given);
  const displaced = displacedIn(document.sessions);
  if (displaced.length > 0) throw new SessionProblem(displaced);
  return document;
};
