import type { ModelMessage } from '../model/types.ts';
import { isWithdrawn } from '../protocol/call-metadata.ts';
import type { FilePart, Part, ToolPart } from '../protocol/types.ts';
import type { MessageWithParts } from '../store/store.ts';
import { formatFileNote } from '../tools/tool.ts';

type UserContent = Extract<ModelMessage, { readonly role: 'user' }>['content'];
type Answer = Extract<ModelMessage, { readonly role: 'assistant' }>;
type ToolResult = Extract<ModelMessage, { readonly role: 'tool' }>['results'][number];

/**
 * What is made of something stored, once for as long as that is held: a turn that keeps its messages then sends the same
 * objects in each step, and a model need not write their texts again.
 */
const createConversions = <Stored extends object, Made>() => {
  const known = new WeakMap<Stored, Made>();
  return (stored: Stored, make: () => Made): Made => {
    const made = known.get(stored) ?? make();
    known.set(stored, made);
    return made;
  };
};
const pieceOf = createConversions<Part, UserContent[number]>();
const resultOf = createConversions<ToolPart, ToolResult>();
const answerOf = createConversions<readonly Part[], Answer>();

const mediumOf = (mime: string): string => (mime === 'application/pdf' ? 'pdf' : mime.replace(/\/.*$/s, ''));

const toUserContent = (parts: readonly Part[], media: readonly string[]): UserContent =>
  parts.flatMap((part): UserContent => {
    if (part.type === 'text') return part.text === '' ? [] : [pieceOf(part, () => ({ kind: 'text', text: part.text }))];
    if (part.type !== 'file') return [];
    const { mime, url, filename } = part;
    // Images and documents are always tried: configurations often leave out what their models read.
    if (mediumOf(mime) === 'audio' && !media.includes('audio'))
      return [{ kind: 'text', text: `[attached ${formatName(filename ?? 'file')}: this model takes no audio]` }];
    return [pieceOf(part, () => ({ kind: 'file', mime, url, ...(filename === undefined ? {} : { filename }) }))];
  });

const formatName = (name: string): string => name.replace(/[^\w. -]/g, '?').slice(0, 100);

const attachmentsOf = ({ state }: ToolPart): readonly FilePart[] =>
  state.status === 'completed' ? (state.attachments ?? []) : [];

/** What a model reads beside text, and which of the files that tools answered with it gets. */
type Readable = { readonly media: readonly string[]; readonly sent: ReadonlySet<FilePart> };

/** How much of the files in results is sent: the newest, because each step sends all of them again. */
const ATTACHMENTS_LIMIT_CHARS = 10_000_000;

const newestAttachments = (messages: readonly MessageWithParts[], media: readonly string[]): ReadonlySet<FilePart> => {
  const sent = new Set<FilePart>();
  let chars = 0;
  const files = messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'tool' && !isWithdrawn(part) ? attachmentsOf(part) : []))
    .filter(({ mime }) => media.includes(mediumOf(mime)));
  for (const file of files.toReversed()) {
    chars += file.url.length;
    if (chars > ATTACHMENTS_LIMIT_CHARS) break;
    sent.add(file);
  }
  return sent;
};

/** A line for each file that a model does not get, in the place of the file. */
const unsentNotes = (part: ToolPart, { media, sent }: Readable): readonly string[] =>
  attachmentsOf(part)
    .filter((file) => !sent.has(file))
    .map((file) => {
      const isReadable = media.includes(mediumOf(file.mime));
      return formatFileNote(file, isReadable ? 'only newer files are sent again' : 'this model cannot read it');
    });

const toToolResult = (part: ToolPart, readable: Readable): ToolResult => {
  const { callID, tool, state } = part;
  const call = { id: callID, name: tool };
  if (state.status === 'completed') {
    const notes = unsentNotes(part, readable);
    const output = [...(state.output === '' ? [] : [state.output]), ...notes].join('\n\n');
    const isOfFiles = output === '' && attachmentsOf(part).length > 0;
    return { ...call, output: isOfFiles ? '[files, which follow]' : output, isError: false };
  }
  // Backends refuse a call without a result, so a call that never ended gets one too.
  return { ...call, output: state.status === 'error' ? state.error : 'The call was interrupted', isError: true };
};

/** Files among results, in a message of their own: most backends take only text in a result. */
const toAttachedFiles = (tools: readonly ToolPart[], { sent }: Readable): readonly ModelMessage[] => {
  const content = tools.flatMap((part): UserContent => {
    const files = attachmentsOf(part).filter((file) => sent.has(file));
    if (files.length === 0) return [];
    const pieces = files.map((file) => pieceOf(file, () => ({ kind: 'file', mime: file.mime, url: file.url })));
    return [{ kind: 'text', text: `Files from the result of ${part.tool}:` }, ...pieces];
  });
  return content.length === 0 ? [] : [{ role: 'user', content }];
};

const toModelMessages = ({ info, parts }: MessageWithParts, readable: Readable): readonly ModelMessage[] => {
  if (info.role === 'user') {
    const content = toUserContent(parts, readable.media);
    return content.length === 0 ? [] : [{ role: 'user', content }];
  }
  const text = joinTexts(parts);
  const tools = parts.filter((part) => part.type === 'tool').filter((part) => !isWithdrawn(part));
  const calls = tools.map(({ callID, tool, state }) => ({ id: callID, name: tool, input: state.input }));
  if (text === '' && calls.length === 0) return [];
  const answer = answerOf(parts, () => ({ role: 'assistant', text, calls }));
  if (calls.length === 0) return [answer];
  const results = tools.map((part) => {
    const make = (): ToolResult => toToolResult(part, readable);
    // With files, the result says which of them are not sent.
    return attachmentsOf(part).length === 0 ? resultOf(part, make) : make();
  });
  return [answer, { role: 'tool', results }, ...toAttachedFiles(tools, readable)];
};

const joinTexts = (parts: readonly Part[]): string =>
  parts
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n');

const isSummary = ({ info }: MessageWithParts): boolean => info.role === 'assistant' && info.summary === true;
const isCompaction = ({ parts }: MessageWithParts): boolean => parts.some(({ type }) => type === 'compaction');

/** A message and its position in its session. */
type PositionedMessage = { readonly stored: MessageWithParts; readonly position: number };

/**
 * The prompts up to the one that is being answered, each followed by its answers, and that one at the end: prompts that are
 * still queued come later. A prompt that has an answer counts at any position.
 */
const orderByPrompt = (messages: readonly PositionedMessage[], promptID: string): readonly PositionedMessage[] => {
  const answers = Map.groupBy(messages, ({ stored: { info } }) => (info.role === 'assistant' ? info.parentID : ''));
  const current = messages.filter(({ stored }) => stored.info.id === promptID);
  const currentPosition = current[0]?.position ?? messages.length;
  const before = messages.filter(({ stored, position }) => {
    const { id, role } = stored.info;
    return (
      role === 'user' &&
      (position < currentPosition || (position > currentPosition && answers.has(id))) &&
      !isCompaction(stored)
    );
  });
  return [...before, ...current].flatMap((one) => [one, ...(answers.get(one.stored.info.id) ?? [])]);
};

/**
 * Which messages a summary covers. An automatic summary is made while an answer is being written: that answer comes after
 * the summary, the prompt it answers and those before that are covered, and prompts that were queued are not.
 */
const coveredBy = (messages: readonly PositionedMessage[], summary: PositionedMessage) => {
  const { info: summed } = summary.stored;
  const request = messages.find(({ stored }) => summed.role === 'assistant' && stored.info.id === summed.parentID);
  // A requested summary runs when it is first in the queue: everything before it was answered.
  if (request?.stored.parts.some((part) => part.type === 'compaction' && !part.auto))
    return {
      answers: ({ position }: PositionedMessage): boolean => position <= summary.position,
      prompts: ({ position }: PositionedMessage): boolean => position <= request.position,
    };
  const compactions = new Set(
    messages.filter(({ stored }) => isCompaction(stored)).map(({ stored }) => stored.info.id),
  );
  const begun = messages.findLast(
    ({ stored: { info }, position }) =>
      info.role === 'assistant' &&
      // Its request may be removed, and a summary is no answer even so.
      info.summary !== true &&
      position < summary.position &&
      !compactions.has(info.parentID),
  );
  const info = begun?.stored.info;
  const answeredID = info?.role === 'assistant' ? info.parentID : undefined;
  const answered = messages.find(({ stored }) => stored.info.id === answeredID);
  return {
    answers: ({ position }: PositionedMessage): boolean => position <= summary.position && position !== begun?.position,
    prompts: ({ position }: PositionedMessage): boolean => position <= (answered?.position ?? -1),
  };
};

/**
 * The conversation that a model gets when it answers the message `promptID`: all messages and calls, without reasoning;
 * where there is a summary, that, what came after it, and the message itself. The order is that of `messages`: ids may come
 * from several clocks and are not compared. `media` are what the model reads beside text (`image`, `audio`, `pdf`): files in
 * the results of tools come only where it can read them, and only the newest 10 MB of them.
 */
export const toModelHistory = (
  messages: readonly MessageWithParts[],
  promptID: string,
  media: readonly string[],
): readonly ModelMessage[] => {
  const positioned = messages.map((stored, position): PositionedMessage => ({ stored, position }));
  const ordered = orderByPrompt(positioned, promptID);
  const summary = positioned.findLast(({ stored }) => isSummary(stored));
  const toMessages = (kept: readonly PositionedMessage[]): readonly ModelMessage[] => {
    const stored = kept.map((one) => one.stored);
    const readable = { media, sent: newestAttachments(stored, media) };
    return stored.flatMap((one) => toModelMessages(one, readable));
  };
  if (summary === undefined) return toMessages(ordered);
  const text = `What happened before, in short:\n${joinTexts(summary.stored.parts)}`;
  const covered = coveredBy(positioned, summary);
  const since = ordered.filter((one) => {
    const { info } = one.stored;
    return info.role === 'assistant' ? !covered.answers(one) : info.id === promptID || !covered.prompts(one);
  });
  return [{ role: 'user', content: [{ kind: 'text', text }] }, ...toMessages(since)];
};

const truncate = (text: string, limitChars: number): string =>
  text.length <= limitChars ? text : `${text.slice(0, limitChars).toWellFormed()}…`;

/** The same conversation with every text cut to so many characters, and with the name of a file in place of its content. */
export const truncateMessages = (messages: readonly ModelMessage[], limitChars: number): readonly ModelMessage[] =>
  messages.map((message): ModelMessage => {
    switch (message.role) {
      case 'user':
        return {
          ...message,
          content: message.content.map((piece) => {
            const text = piece.kind === 'text' ? piece.text : `(a file: ${piece.filename ?? piece.mime})`;
            return { kind: 'text', text: truncate(text, limitChars) };
          }),
        };
      case 'assistant':
        return {
          ...message,
          text: truncate(message.text, limitChars),
          calls: message.calls.map((call) => {
            const given = JSON.stringify(call.input) ?? '';
            return given.length <= limitChars ? call : { ...call, input: { beginning: truncate(given, limitChars) } };
          }),
        };
      case 'tool':
        return {
          ...message,
          results: message.results.map((result) => ({ ...result, output: truncate(result.output, limitChars) })),
        };
      default:
        return message satisfies never;
    }
  });
