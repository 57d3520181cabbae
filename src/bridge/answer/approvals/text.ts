import { isRecord } from '../../../core/json.ts';
import type { PermissionRecord } from '../../agent/schema.ts';
import { type ApprovalRequest, SHOWN_CHARS } from '../../output.ts';

const INPUT_CHARS = 6000;
/** Tried in this order on each text among the arguments, until all of them fit. */
const TEXT_CHARS = [INPUT_CHARS, 2000, 500, 100] as const;
/** Longer JSON has a line for each argument: clients do not wrap code, and hide what is far to the right. */
const LINE_CHARS = 100;
const NOTE_CHARS = 1000;
const LABEL_CHARS = 60;
const TOOL_CHARS = 200;
const MOST_NOTES = 20;
/** Long enough to distinguish the requests of a conversation, and short enough to be typed. */
const SHORT_ID_CHARS = 6;

/** Invisible characters, and those that move visible ones. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}/gu;

const cut = (text: string, limit: number): string => text.slice(0, limit).toWellFormed();

const shortened = (text: string, limit: number): string =>
  text.length > limit ? `${cut(text, limit)}… (${text.length - limit} characters left out)` : text;

const oneLine = (text: string): string => text.replace(INVISIBLE, ' ').replace(/\s+/g, ' ').trim();

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

/** JSON with all characters visible, and each text in it shortened to `textChars`. */
const toVisibleJson = (value: unknown, textChars: number): string => {
  const short = (_key: string, inner: unknown): unknown =>
    typeof inner === 'string' ? shortened(inner, textChars) : inner;
  const line = JSON.stringify(value, short);
  const text = line.length > LINE_CHARS ? JSON.stringify(value, short, 1) : line;
  // The line breaks are those of the JSON format. Those within texts are escaped already.
  return text.replace(INVISIBLE, (character) => (character === '\n' ? character : escaped(character)));
};

const shortenInput = (value: unknown): Pick<ApprovalRequest, 'input' | 'isCut'> => {
  let text = '';
  for (const limit of TEXT_CHARS) {
    text = toVisibleJson(value, limit);
    if (text.length <= INPUT_CHARS) return { input: text };
  }
  return { input: `${cut(text, INPUT_CHARS)}…`, isCut: true };
};

/** A text of a preview, with the names that lead to it. */
type LabelledText = { readonly label: string; readonly text: string };

/** Each text has a line and a label of its own, so that no text can pass for another, such as a user's name for a status. */
const collectTexts = (value: unknown, path: readonly string[] = []): readonly LabelledText[] => {
  if (typeof value === 'string') return [{ label: path.length === 0 ? 'note' : path.join('.'), text: value }];
  if (Array.isArray(value)) return value.flatMap((item) => collectTexts(item, path));
  if (!isRecord(value)) return [];
  const { code, text } = value;
  if (path.join() === 'warnings' && typeof code === 'string' && typeof text === 'string')
    return [{ label: `WARNING ${code}`, text }];
  return Object.entries(value).flatMap(([name, inner]) => collectTexts(inner, [...path, name]));
};

const toNotes = (preview: unknown): string[] => {
  const texts = collectTexts(preview);
  const notes = texts
    .slice(0, MOST_NOTES)
    .map(({ label, text }) => `${shortened(oneLine(label), LABEL_CHARS)}: ${shortened(oneLine(text), NOTE_CHARS)}`);
  return texts.length > MOST_NOTES ? [...notes, `(${texts.length - MOST_NOTES} more left out)`] : notes;
};

/** The arguments as a permission request itself has them: as one member, or the agent's own members about them. */
const inputOf = ({ metadata }: PermissionRecord): unknown => {
  const { input, preview: _preview, title: _title, ...rest } = metadata;
  return input ?? rest;
};

/** Whether a permission request has none of its call's arguments, and nothing but the whole id approves it. */
const lacksInput = ({ tool }: PermissionRecord, input: unknown): boolean =>
  tool !== undefined && isRecord(input) && Object.keys(input).length === 0;

/** The call that a request is about, with all of its arguments; none where that is one of a subagent. */
const callOf = ({ tool, permission, metadata }: PermissionRecord, input: unknown): Pick<ApprovalRequest, 'call'> => {
  if (tool === undefined) return {};
  const name = typeof metadata.tool === 'string' ? metadata.tool : permission;
  return { call: { id: tool.callID, name, input: JSON.stringify(input).slice(0, SHOWN_CHARS) } };
};

const UNKNOWN_INPUT = { input: '(the agent server did not send the arguments)', isCut: true };

/**
 * A permission request as the user sees it: the tool, its arguments, and the agent's notes about them. `turnSessionID`: the session
 * of the turn that waits for it.
 */
export const toApprovalRequest = (request: PermissionRecord, turnSessionID: string): ApprovalRequest => {
  const { id, sessionID, permission, metadata } = request;
  const input = inputOf(request);
  const isUnknown = lacksInput(request, input);
  return {
    id,
    sessionID,
    // It is shown outside the fence, so it must contain no markup.
    tool: shortened(permission.replace(/[^\w.:/-]+/g, '?'), TOOL_CHARS),
    ...(isUnknown ? UNKNOWN_INPUT : shortenInput(input)),
    notes: toNotes(metadata.preview),
    ...(isUnknown || sessionID !== turnSessionID ? {} : callOf(request, input)),
  };
};

/** The end of a request's id, by which the user can answer it. */
export const shortRequestID = ({ id }: Pick<ApprovalRequest, 'id'>): string => id.slice(-SHORT_ID_CHARS);

/** `isWholeID`: the word is the whole id, and not its end. */
type RequestLookup =
  | { readonly kind: 'found'; readonly request: ApprovalRequest; readonly isWholeID: boolean }
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'unknown' };

/**
 * The request that a word names: by its whole id, or by the short id that was shown, in any letter case. Ids that differ only
 * in their letter case have to be written as shown.
 */
export const lookUpRequest = (word: string, requests: readonly ApprovalRequest[]): RequestLookup => {
  const lowerCase = word.toLowerCase();
  const named = requests.filter(
    ({ id }) => id.toLowerCase() === lowerCase || shortRequestID({ id }).toLowerCase() === lowerCase,
  );
  const exactly = named.filter(({ id }) => id === word || shortRequestID({ id }) === word);
  const [request, ...others] = exactly.length > 0 ? exactly : named;
  if (request === undefined) return { kind: 'unknown' };
  if (others.length > 0) return { kind: 'ambiguous' };
  return { kind: 'found', request, isWholeID: request.id.toLowerCase() === lowerCase };
};

/** A block that clients show unchanged. With the word `text` the fence cannot close one that was left open before. */
const fenced = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
};

const toRequestText = (request: ApprovalRequest): string => {
  const id = shortRequestID(request);
  return [
    `The agent asks for approval: ${request.tool}`,
    fenced([request.input, ...request.notes].join('\n')),
    ...(request.isCut ? ['The input is cut: not all of it is shown. It can be approved only by its whole id.'] : []),
    `Reply "approve ${request.isCut ? request.id : id}" or "reject ${id}".`,
  ].join('\n');
};

/** The text with which an answer ends that has approval requests; empty without them. */
export const toApprovalText = (requests: readonly ApprovalRequest[]): string =>
  requests.map(toRequestText).join('\n\n');

/** One block of such a text. The fence is longer than any row of backticks in it. */
const BLOCK =
  /The agent asks for approval: (\S+)\n(`{3,})text\n[\s\S]*?\n\2\n(?:The input is cut: [^\n]*\n)?Reply "approve \w+" or "reject (\w+)"\./y;
const OPENING = 'The agent asks for approval: ';
/** Where a text may begin with which an answer ends: so many places are tried, from the end of so many characters. */
const OPENINGS_LIMIT = 50;
const SOUGHT_CHARS = 400_000;

/** A request as an answer in a history shows it. `id`: its short one. */
type ShownRequest = { readonly id: string; readonly tool: string };

/** The requests of an approval text, which has to be all of the text from a position on; undefined for any other text. */
const readApprovalText = (text: string, from: number): readonly ShownRequest[] | undefined => {
  const block = new RegExp(BLOCK);
  const requests: ShownRequest[] = [];
  block.lastIndex = from;
  for (;;) {
    const [, tool = '', , id = ''] = block.exec(text) ?? [];
    if (id === '') return undefined;
    requests.push({ id, tool });
    if (text.slice(block.lastIndex).trim() === '') return requests;
    if (!text.startsWith('\n\n', block.lastIndex)) return undefined;
    block.lastIndex += 2;
  }
};

/** An answer in a history without the approval text at its end, and the requests that were shown there. */
export const splitApprovalText = (
  answer: string,
): { readonly text: string; readonly requests: readonly ShownRequest[] } => {
  const first = Math.max(0, answer.length - SOUGHT_CHARS);
  let at = answer.indexOf(OPENING, first);
  for (let tried = 0; at !== -1 && tried < OPENINGS_LIMIT; tried += 1) {
    const requests = at === 0 || answer[at - 1] === '\n' ? readApprovalText(answer, at) : undefined;
    if (requests !== undefined) return { text: answer.slice(0, at).trimEnd(), requests };
    at = answer.indexOf(OPENING, at + 1);
  }
  return { text: answer, requests: [] };
};
