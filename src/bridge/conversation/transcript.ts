import * as v from 'valibot';
import { jsonPieces, parseJson } from '../../core/json.ts';
import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import type { Steps } from '../../core/time-slices.ts';
import { argumentsOf, clientCallsIn, findGivenCalls } from '../agent/given-calls.ts';
import { tokenIn } from '../agent/prompt-token.ts';
import type { MessageRecord, PartRecord } from '../agent/schema.ts';
import type { AgentModel, Prompt, PromptFormat } from '../agent/types.ts';
import {
  type AnswerFormat,
  type BridgeRequest,
  describeToolCall,
  describeToolOutput,
  type HistoryMessage,
  type PromptPart,
  textOfParts,
} from '../request.ts';
import { isStoredItem } from './stored/items.ts';

const textOf = ({ parts }: MessageRecord, isWithSynthetic = false): string =>
  parts
    .flatMap((part) =>
      part.type === 'text' && part.ignored !== true && (isWithSynthetic || part.synthetic !== true) ? [part.text] : [],
    )
    .join('\n\n');

const isSynthetic = ({ parts }: MessageRecord): boolean =>
  parts.some((part) => part.type === 'text' && part.synthetic === true);

/**
 * Ids of the user messages that a user has written, and of those in `known`. The agent writes others: to get a summary, and to
 * continue after it.
 */
export const promptIDsOfUsers = (
  records: readonly MessageRecord[],
  known: ReadonlySet<string>,
): ReadonlySet<string> => {
  const summarized = records.flatMap(({ info }) =>
    info.role === 'assistant' && info.summary === true ? [info.parentID] : [],
  );
  const isWritten = (record: MessageRecord) =>
    textOf(record) !== '' || !(isSynthetic(record) || summarized.includes(record.info.id));
  const written = records.filter(
    (record) => record.info.role === 'user' && (known.has(record.info.id) || isWritten(record)),
  );
  return new Set(written.map(({ info }) => info.id));
};

/** Ids of prompts after the last known one: sent by another program, or before this process was started. */
export const promptIDsAfter = (records: readonly MessageRecord[], known: ReadonlySet<string>): string[] => {
  const last = records.findLastIndex(({ info }) => known.has(info.id));
  const prompts = promptIDsOfUsers(records, known);
  return records.slice(last + 1).flatMap(({ info }) => (prompts.has(info.id) ? [info.id] : []));
};

/** The newest of them of which no bridge can be told: what has a token is looked up by that. */
export const newestWithoutToken = (
  records: readonly MessageRecord[],
  known: ReadonlySet<string>,
): string | undefined => {
  const tokens = new Map(records.map((record) => [record.info.id, tokenIn(record)]));
  return promptIDsAfter(records, known).findLast((id) => tokens.get(id) === undefined);
};

type KnownTurn = {
  readonly promptID: string;
  /** Ids of all known prompts of the session. */
  readonly known: ReadonlySet<string>;
  /** Whether the first prompt holds a replay of earlier messages. The result includes that text as it is. */
  readonly hasReplay: boolean;
  /** Ids of calls of the client whose results come now. */
  readonly answeredCallIDs: readonly string[];
};

/** The client's calls in a message, in words; with their results, unless these come now. */
const describeCalls = (record: MessageRecord, areAnswered: boolean): readonly string[] =>
  clientCallsIn(record).flatMap((part) => {
    const { tool, state } = part;
    const call = textOfParts([describeToolCall(tool, argumentsOf(part))]);
    const output = state.status === 'completed' ? state.output : state.status === 'error' ? state.error : undefined;
    return areAnswered || output === undefined ? [call] : [call, describeToolOutput(tool, output)];
  });

/**
 * The messages of a session up to the end of a turn, or in it up to the calls that are answered now; undefined where that turn
 * is not in the session any more.
 */
export const messagesUpTo = (
  records: readonly MessageRecord[],
  { promptID, known, hasReplay, answeredCallIDs }: KnownTurn,
): HistoryMessage[] | undefined => {
  const from = records.findIndex(({ info }) => info.id === promptID);
  if (from === -1) return undefined;
  const prompts = promptIDsOfUsers(records, known);
  const next = records.findIndex(({ info }, index) => index > from && prompts.has(info.id));
  const [first] = prompts;
  const upToTurn = records.slice(0, next === -1 ? records.length : next);
  const given = findGivenCalls(upToTurn, answeredCallIDs);
  const last = upToTurn.findIndex(({ info }) => info.id === given?.messageID);
  return upToTurn
    .slice(0, last === -1 ? upToTurn.length : last + 1)
    .filter(({ info }) => info.role === 'user' || info.summary !== true)
    .map((record) => {
      const isWithSynthetic = isStoredItem(record) || (hasReplay && record.info.id === first);
      const calls = describeCalls(record, record.info.id === given?.messageID);
      const text = [textOf(record, isWithSynthetic), ...calls].filter((one) => one !== '').join('\n\n');
      return { role: record.info.role, text };
    })
    .filter(({ text }) => text !== '');
};

const CHARS_PER_STEP = 16_384;
const REPLAY_OPENING =
  'These are the earlier messages of this conversation. They are context only: answer the message after them.\n';
const ReplayedMessages = v.array(v.object({ role: v.picklist(['user', 'assistant']), text: v.string() }));

/** The earlier messages that a part of a prompt holds; empty for any other part. */
export const readReplay = (part: PartRecord): readonly HistoryMessage[] =>
  part.type === 'text' && part.synthetic === true && part.text.startsWith(REPLAY_OPENING)
    ? (parseJson(ReplayedMessages, part.text.slice(REPLAY_OPENING.length)) ?? [])
    : [];

/**
 * Earlier messages, for a session that does not have them. As JSON, so that no text in it can look like its end, and in a
 * part of its own before the user's text.
 */
function* replayText(messages: readonly HistoryMessage[]): Steps<string> {
  const pieces = [REPLAY_OPENING];
  let before = '[\n';
  let chars = 0;
  for (const { role, text } of messages) {
    pieces.push(`${before} {\n  "role": "${role}",\n  "text": `);
    for (const piece of jsonPieces(text)) {
      pieces.push(piece);
      chars += piece.length;
      if (chars < CHARS_PER_STEP) continue;
      chars = 0;
      yield;
    }
    pieces.push('\n }');
    before = ',\n';
  }
  return `${pieces.join('')}\n]`;
}

const CONTINUE =
  'Your answer has been begun already, with the text below. Write what comes right after its last character. Do not repeat any of it, and do not mention this.';

/** How many more values the model may try after one that does not fit. */
const REPAIRS = 1;

/** The form of an answer in the agent's words. */
export const promptFormat = ({ schema }: AnswerFormat): PromptFormat => ({
  type: 'json_schema',
  schema,
  retryCount: REPAIRS,
});

type AgentPart = Prompt['parts'][number];

/** Agents begin each answer anew, so the model is asked to continue. A value of a given form is always a whole one. */
const prefillPart = ({ prefill, format }: BridgeRequest): readonly AgentPart[] =>
  prefill === undefined || format !== undefined
    ? []
    : [{ type: 'text', text: `${CONTINUE}\n\n${prefill}`, synthetic: true }];

const toAgentPart = (part: PromptPart): PromptPart => {
  if (part.type === 'text') return part;
  const { at: _, ...file } = part;
  return file;
};

/** A request as a prompt for the agent, after the messages in `replay`. */
export function* toAgentPrompt(
  request: BridgeRequest,
  replay: readonly HistoryMessage[],
  { model, agent, token }: Pick<Prompt, 'agent' | 'token'> & { readonly model: AgentModel | undefined },
): Steps<Prompt> {
  const replayed =
    replay.length === 0 ? [] : [{ type: 'text' as const, text: yield* replayText(replay), synthetic: true }];
  return {
    parts: [
      ...replayed,
      ...[...replay.flatMap(({ files = [] }) => files), ...request.prompt].map(toAgentPart),
      ...prefillPart(request),
    ],
    model: model === undefined ? undefined : { providerID: model.providerID, modelID: model.modelID },
    variant: request.effort !== undefined && model?.variants.includes(request.effort) ? request.effort : undefined,
    agent,
    ...(token === undefined ? {} : { token }),
    system: request.system,
    hasTools: !request.isBackgroundTask,
    ...(request.format === undefined ? {} : { format: promptFormat(request.format) }),
    ...(request.clientTools === undefined ? {} : { clientTools: request.clientTools }),
    ...(request.span === undefined ? {} : { span: request.span }),
  };
}

const TITLE_CHARS = 60;
const READ_CHARS = 1000;
const UNTITLED = 'Conversation';

/** A title for a session: its first words, in one line. The agent calls a model for a title only where there is none. */
export const sessionTitleFor = (prompt: readonly PromptPart[]): string => {
  const line = textOfParts(prompt).slice(0, READ_CHARS).replace(/\s+/g, ' ').replace(INVISIBLE_CHARACTERS, '').trim();
  const points = [...line];
  if (points.length <= TITLE_CHARS) return line === '' ? UNTITLED : line;
  const cut = points.slice(0, TITLE_CHARS - 1).join('');
  return `${cut.replace(/ +\S*$/, '')}…`;
};
