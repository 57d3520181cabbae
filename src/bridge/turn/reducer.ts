import { type CallPart, isCallOfClient } from '../agent/given-calls.ts';
import type { AgentEventRecord, AssistantInfo, MessageInfo, MessageRecord, PartRecord } from '../agent/schema.ts';
import { NO_USAGE, SHOWN_CHARS, type Usage } from '../output.ts';
import { STRUCTURED_OUTPUT_CALL } from '../stream/structured.ts';
import { createClientCalls } from './client-calls.ts';
import type { TurnLogWriter } from './log.ts';
import { createTurnPrompts, type OwnPrompt } from './turn-prompts.ts';

type TextPart = Extract<PartRecord, { readonly type: 'text' | 'reasoning' }>;
type Delta = Extract<AgentEventRecord, { readonly type: 'message.part.delta' }>['properties'];

/** Applies what the agent sends about a turn to the turn's log. */
export type TurnReducer = {
  /** Applies an event of the session. An event of another turn changes nothing. */
  readonly applyEvent: (event: AgentEventRecord) => void;
  /**
   * Applies messages as the agent lists them. They may be older than the last event, and never take anything back. But after
   * `noteGap` they have to be newer than the gap.
   */
  readonly applySnapshot: (records: readonly MessageRecord[]) => void;
  /** Events were lost: later events wait for a snapshot. */
  readonly noteGap: () => void;
  /** Sets the user message that was answered. */
  readonly setPrompt: (messageID: string) => void;
  /** The user message that this turn answers, as soon as it is known. */
  readonly promptID: () => string | undefined;
  /** Whether a message was seen in its complete form. */
  readonly isComplete: (messageID: string) => boolean;
  /** Whether a message is one of this turn's answers. */
  readonly hasAnswer: (messageID: string) => boolean;
  /** The last answer so far. */
  readonly lastAnswer: () => AssistantInfo | undefined;
};

/** Texts from events, which come in order, and from snapshots, which are older than some events and newer than others. */
type RecordedTexts = {
  readonly applyPart: (part: TextPart) => void;
  readonly applyDelta: (delta: Pick<Delta, 'partID' | 'delta'>) => void;
  /** A text of a snapshot. */
  readonly applySnapshotPart: (part: TextPart) => void;
  /** Events were lost, so deltas of a text are ignored until an event has the whole of it. */
  readonly noteGap: () => void;
};

const isOver = ({ time }: TextPart): boolean => time?.end !== undefined;
/** The text is withdrawn. That is the last state of a text, so it is never outdated. */
const isEmptied = (part: TextPart): boolean => isOver(part) && part.text === '';

/** Writes what is new. Outdated states only repeat what is in the log already, and are not written again. */
const createRecordedTexts = (writer: TurnLogWriter): RecordedTexts => {
  /** Texts of which all events so far were received, so that a delta can be appended. */
  const gapless = new Set<string>();

  const write = (part: TextPart): void => {
    const { id, messageID, type: kind, text } = part;
    writer.setText({ id, messageID, kind, text, isOver: isOver(part) });
  };
  return {
    applyPart(part) {
      if (writer.isTextOver(part.id) && !isEmptied(part)) return;
      gapless.add(part.id);
      write(part);
    },
    applyDelta({ partID, delta }) {
      if (gapless.has(partID) && !writer.isTextOver(partID)) writer.addText(partID, delta);
    },
    applySnapshotPart(part) {
      // A text that is not complete may have grown, or restarted, since the snapshot.
      const isOutdated = writer.isTextOver(part.id) || (gapless.has(part.id) && !isOver(part));
      if (isEmptied(part) || !isOutdated) write(part);
    },
    noteGap: () => gapless.clear(),
  };
};

const usageOf = (messages: Iterable<AssistantInfo>): Usage => {
  let total = NO_USAGE;
  for (const { tokens } of messages) {
    if (tokens === undefined) continue;
    const { input, output, reasoning, cache } = tokens;
    total = {
      prompt: total.prompt + input + cache.read + cache.write,
      cached: total.cached + cache.read,
      cacheWritten: total.cacheWritten + cache.write,
      completion: total.completion + output + reasoning,
      reasoning: total.reasoning + reasoning,
    };
  }
  return total;
};

const outputOf = ({ state }: CallPart): { output: string; isError: boolean } | undefined => {
  if (state.status === 'completed') return { output: state.output.slice(0, SHOWN_CHARS), isError: false };
  if (state.status === 'error') return { output: state.error.slice(0, SHOWN_CHARS), isError: true };
  return undefined;
};

/** A call of an attempt that was withdrawn, because its backend was asked again. */
const isWithdrawn = ({ state }: CallPart): boolean => state.status === 'error' && state.metadata?.withdrawn === true;
const isHidden = (part: TextPart): boolean => part.synthetic === true || part.ignored === true;

/**
 * A session runs one turn at a time. A turn is all the assistant messages that answer one user message.
 * `knownMessageIDs`: earlier user messages, which the agent sends again when it changes something about them. Events of user
 * messages are never part of an answer.
 */
export const createTurnReducer = (
  writer: TurnLogWriter,
  knownMessageIDs: ReadonlySet<string>,
  own?: OwnPrompt,
): TurnReducer => {
  const prompts = createTurnPrompts(knownMessageIDs, own);
  const texts = createRecordedTexts(writer);
  const clientCalls = createClientCalls(writer);
  const answers = new Map<string, AssistantInfo>();
  /** Events after a gap, until a snapshot has what was lost in it. */
  let waiting: AgentEventRecord[] | undefined;

  const applyAnswer = (info: MessageInfo): void => {
    if (info.role === 'user' || !prompts.has(info.parentID) || info.summary === true) return;
    const known = answers.get(info.id);
    if (known?.time.completed !== undefined && info.time.completed === undefined) return;
    answers.set(info.id, info);
    writer.setUsage(usageOf(answers.values()));
  };
  const endIfComplete = (id: string): void => {
    const answer = answers.get(id);
    if (answer?.time.completed === undefined) return;
    writer.endMessage(id);
    clientCalls.endMessage(answer);
  };
  const applyCall = (part: CallPart): void => {
    // A pending call has no arguments yet, and they are sent to the client once.
    if (part.state.status === 'pending' || isWithdrawn(part)) return;
    const result = outputOf(part);
    if (result === undefined && writer.hasResult(part.id)) return;
    const input = JSON.stringify(part.state.input).slice(
      0,
      part.tool === STRUCTURED_OUTPUT_CALL ? undefined : SHOWN_CHARS,
    );
    const call = { id: part.callID, partID: part.id, name: part.tool, input };
    writer.setCall({ kind: 'call', id: part.id, call, result });
  };
  const applyPart = (part: PartRecord, applyText: (text: TextPart) => void): void => {
    if (!answers.has(part.messageID) || part.type === 'other' || part.type === 'file') return;
    if (part.type === 'tool' && isCallOfClient(part)) {
      clientCalls.apply(part);
      endIfComplete(part.messageID);
    } else if (part.type === 'tool') applyCall(part);
    else if (!isHidden(part)) applyText(part);
  };
  const applyNow = (event: AgentEventRecord): void => {
    if (event.type === 'message.updated') {
      const { info } = event.properties;
      if (info.role === 'user') prompts.applyMessage(info.id);
      applyAnswer(info);
      endIfComplete(info.id);
    } else if (event.type === 'message.part.updated') {
      prompts.applyPart(event.properties.part);
      applyPart(event.properties.part, texts.applyPart);
    } else if (event.type === 'message.part.delta' && event.properties.field === 'text') {
      texts.applyDelta(event.properties);
    }
  };

  return {
    applyEvent(event) {
      if (waiting === undefined) applyNow(event);
      else waiting.push(event);
    },
    applySnapshot(records) {
      prompts.applySnapshot(records);
      for (const { info, parts } of records) {
        applyAnswer(info);
        for (const part of parts) applyPart(part, texts.applySnapshotPart);
        endIfComplete(info.id);
      }
      const events = waiting ?? [];
      waiting = undefined;
      for (const event of events) applyNow(event);
    },
    noteGap() {
      texts.noteGap();
      waiting = [];
    },
    setPrompt: prompts.setPrompt,
    promptID: prompts.promptID,
    isComplete: (messageID) => answers.get(messageID)?.time.completed !== undefined,
    hasAnswer: (messageID) => answers.has(messageID),
    lastAnswer: () => [...answers.values()].at(-1),
  };
};
