import type { PermissionRecord } from '../agent/schema.ts';
import type { ApprovalRequest } from '../output.ts';

const INPUT_CHARS = 6000;
/** Tried in this order on each text among the arguments, until all of them fit. */
const TEXT_CHARS = [INPUT_CHARS, 2000, 500, 100] as const;
/** Longer arguments have a line each: code is not wrapped, and what stands far to the right is not seen. */
const LINE_CHARS = 100;
const NOTE_CHARS = 1000;
const TOOL_CHARS = 200;
const MOST_NOTES = 20;
/** Enough of an id to tell a conversation's questions apart, and little enough to be typed. */
const SHORT_ID_CHARS = 6;

/** What cannot be seen, or moves what can. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}/gu;

const cut = (text: string, limit: number): string => text.slice(0, limit).toWellFormed();

const shortened = (text: string, limit: number): string =>
  text.length > limit ? `${cut(text, limit)}… (${text.length - limit} characters left out)` : text;

const oneLine = (text: string): string => text.replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim();

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

/** JSON in which everything can be seen, with its texts no longer than this. */
const jsonOf = (value: unknown, textChars: number): string => {
  const short = (_key: string, inner: unknown): unknown =>
    typeof inner === 'string' ? shortened(inner, textChars) : inner;
  const line = JSON.stringify(value, short);
  const text = line.length > LINE_CHARS ? JSON.stringify(value, short, 1) : line;
  // The line breaks of JSON itself are ours; those of its texts are escaped already.
  return text.replace(UNSEEN, (unseen) => (unseen === '\n' ? unseen : escaped(unseen)));
};

const inputOf = (value: unknown): Pick<ApprovalRequest, 'input' | 'isCut'> => {
  let text = '';
  for (const limit of TEXT_CHARS) {
    text = jsonOf(value, limit);
    if (text.length <= INPUT_CHARS) return { input: text };
  }
  return { input: `${cut(text, INPUT_CHARS)}…`, isCut: true };
};

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

const notesIn = (preview: unknown): string[] => {
  const texts = textsIn(preview);
  const notes = texts.slice(0, MOST_NOTES).map((text) => shortened(oneLine(text), NOTE_CHARS));
  return texts.length > MOST_NOTES ? [...notes, `(${texts.length - MOST_NOTES} more left out)`] : notes;
};

/** What a person is shown of a question: the tool, its arguments, and what the agent has to say of them. */
export const toApprovalRequest = ({ id, sessionID, permission, metadata }: PermissionRecord): ApprovalRequest => {
  const { input, preview, title: _title, ...rest } = metadata;
  return {
    id,
    sessionID,
    // It stands outside the fence, so nothing that a client may take for markup is left in it.
    tool: shortened(permission.replace(/[^\w.:/-]+/g, '?'), TOOL_CHARS),
    ...inputOf(input ?? rest),
    notes: notesIn(preview),
  };
};

/** The end of an ask's id, which is enough to answer it by. */
export const shortRequestID = ({ id }: Pick<ApprovalRequest, 'id'>): string => id.slice(-SHORT_ID_CHARS);

/** Text that a client shows as it is. The word after the fence keeps it from closing one that was left open before. */
const fenced = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
};

const questionOf = (ask: ApprovalRequest): string => {
  const id = shortRequestID(ask);
  return [
    `The agent asks for approval: ${ask.tool}`,
    fenced([ask.input, ...ask.notes.map((note) => `note: ${note}`)].join('\n')),
    ...(ask.isCut ? ['The input is cut: not all of it is shown. It can be approved only by its whole id.'] : []),
    `Reply "approve ${ask.isCut ? ask.id : id}" or "reject ${id}".`,
  ].join('\n');
};

/** The question that an answer ends with. */
export const toApprovalText = (asks: readonly ApprovalRequest[]): string => asks.map(questionOf).join('\n\n');
