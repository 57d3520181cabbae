import type { ModelMessage } from '../model/types.ts';
import { isWithdrawn, type Part, type ToolPart } from '../protocol/types.ts';
import type { MessageWithParts } from '../store/store.ts';

type UserContent = Extract<ModelMessage, { readonly role: 'user' }>['content'];

const toUserContent = (parts: readonly Part[]): UserContent =>
  parts.flatMap((part): UserContent => {
    if (part.type === 'text') return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
    if (part.type !== 'file') return [];
    const { mime, url, filename } = part;
    return [{ kind: 'file', mime, url, ...(filename === undefined ? {} : { filename }) }];
  });

const toToolResult = ({ callID, tool, state }: ToolPart) => {
  const told = { id: callID, name: tool };
  if (state.status === 'completed') return { ...told, output: state.output, isError: false };
  // A call that never ended must have a result all the same: backends refuse a call without one.
  return { ...told, output: state.status === 'error' ? state.error : 'The call was interrupted', isError: true };
};

const toModelMessages = ({ info, parts }: MessageWithParts): readonly ModelMessage[] => {
  if (info.role === 'user') {
    const content = toUserContent(parts);
    return content.length === 0 ? [] : [{ role: 'user', content }];
  }
  const text = joinTexts(parts);
  const tools = parts.filter((part) => part.type === 'tool').filter((part) => !isWithdrawn(part));
  const calls = tools.map(({ callID, tool, state }) => ({ id: callID, name: tool, input: state.input }));
  if (text === '' && calls.length === 0) return [];
  const said: ModelMessage = { role: 'assistant', text, calls };
  return calls.length === 0 ? [said] : [said, { role: 'tool', results: tools.map(toToolResult) }];
};

const joinTexts = (parts: readonly Part[]): string =>
  parts
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n');

const isSummary = ({ info }: MessageWithParts): boolean => info.role === 'assistant' && info.summary === true;
const isCompaction = ({ parts }: MessageWithParts): boolean => parts.some(({ type }) => type === 'compaction');

/** A message, and where it stands among those of its session. */
type PositionedMessage = { readonly stored: MessageWithParts; readonly position: number };

/**
 * Every message up to the one that is being answered, each followed by its answers, and that one at the end: those that wait
 * their turn come later. One that was answered counts wherever it stands.
 */
const orderByPrompt = (messages: readonly PositionedMessage[], askedID: string): readonly PositionedMessage[] => {
  const answers = Map.groupBy(messages, ({ stored: { info } }) => (info.role === 'assistant' ? info.parentID : ''));
  const asked = messages.filter(({ stored: told }) => told.info.id === askedID);
  const askedPlace = asked[0]?.position ?? messages.length;
  const before = messages.filter(({ stored: told, position: place }) => {
    const { id, role } = told.info;
    return role === 'user' && (place < askedPlace || (place > askedPlace && answers.has(id))) && !isCompaction(told);
  });
  return [...before, ...asked].flatMap((one) => [one, ...(answers.get(one.stored.info.id) ?? [])]);
};

/**
 * Where what a summary does not hold begins. When it was made an answer was begun: what is said in that comes after the
 * summary. The message that it answers and those before that one are in the summary; of those that waited none is.
 */
const summarizedBy = (messages: readonly PositionedMessage[], summary: PositionedMessage) => {
  const { info: summed } = summary.stored;
  const request = messages.find(({ stored: told }) => summed.role === 'assistant' && told.info.id === summed.parentID);
  // Somebody asked for it when it was its turn: everything before it was answered.
  if (request?.stored.parts.some((part) => part.type === 'compaction' && !part.auto))
    return {
      answers: ({ position: place }: PositionedMessage): boolean => place <= summary.position,
      prompts: ({ position: place }: PositionedMessage): boolean => place <= request.position,
    };
  const compactions = new Set(
    messages.filter(({ stored: told }) => isCompaction(told)).map(({ stored: told }) => told.info.id),
  );
  const begun = messages.findLast(
    ({ stored: { info }, position: place }) =>
      info.role === 'assistant' && place < summary.position && !compactions.has(info.parentID),
  );
  const info = begun?.stored.info;
  const answeredID = info?.role === 'assistant' ? info.parentID : undefined;
  const answered = messages.find(({ stored: told }) => told.info.id === answeredID);
  return {
    answers: ({ position: place }: PositionedMessage): boolean =>
      place <= summary.position && place !== begun?.position,
    prompts: ({ position: place }: PositionedMessage): boolean => place <= (answered?.position ?? -1),
  };
};

/**
 * What a model is told of a session when it answers the message `askedID`: everything that was said and done, without its
 * thoughts; where there is a summary, what came after it, and the message itself. The messages stand in their order: ids
 * may be of several clocks and are not compared.
 */
export const toModelHistory = (messages: readonly MessageWithParts[], askedID: string): readonly ModelMessage[] => {
  const standing = messages.map((told, place): PositionedMessage => ({ stored: told, position: place }));
  const said = orderByPrompt(standing, askedID);
  const summary = standing.findLast(({ stored: told }) => isSummary(told));
  if (summary === undefined) return said.flatMap(({ stored: told }) => toModelMessages(told));
  const text = `What happened before, in short:\n${joinTexts(summary.stored.parts)}`;
  const held = summarizedBy(standing, summary);
  const since = said.filter((one) => {
    const { info } = one.stored;
    return info.role === 'assistant' ? !held.answers(one) : info.id === askedID || !held.prompts(one);
  });
  return [
    { role: 'user', content: [{ kind: 'text', text }] },
    ...since.flatMap(({ stored: told }) => toModelMessages(told)),
  ];
};

const truncate = (text: string, limitChars: number): string =>
  text.length <= limitChars ? text : `${text.slice(0, limitChars).toWellFormed()}…`;

/** The same conversation with no text in it that is longer than so many characters, and with the names of files for files. */
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
