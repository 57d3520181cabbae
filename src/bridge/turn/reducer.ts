import type { AgentEventRecord, AssistantInfo, MessageInfo, MessageRecord, PartRecord } from '../agent/schema.ts';
import { promptIDsAfter } from '../conversation/transcript.ts';
import { NO_USAGE, type Usage } from '../output.ts';
import type { TurnLogWriter } from './log.ts';

export type AgentTextPart = Extract<PartRecord, { readonly type: 'text' | 'reasoning' }>;
type Delta = Extract<AgentEventRecord, { readonly type: 'message.part.delta' }>['properties'];

/** Texts as events tell them, in order, and as lists do, which are older than some events and newer than others. */
export type RecordedTexts = {
  /** A text as an event tells it. */
  readonly hear: (part: AgentTextPart) => void;
  readonly hearMore: (delta: Pick<Delta, 'partID' | 'delta'>) => void;
  /** A text as a list has it. */
  readonly see: (part: AgentTextPart) => void;
  /** Events were lost, so what is added to a text cannot be placed before the whole of it was told again. */
  readonly doubt: () => void;
};

const isOver = ({ time }: AgentTextPart): boolean => time?.end !== undefined;
/** What was said counts for nothing. That is the last that is told of a text, so it is never old news. */
const isEmptied = (part: AgentTextPart): boolean => isOver(part) && part.text === '';

/** Writes down what goes beyond what is known. Old news say again what was said already, which nobody is told twice. */
export const createRecordedTexts = (writer: TurnLogWriter): RecordedTexts => {
  /** Texts of which everything so far was heard, so that what is added to them can be believed. */
  const sure = new Set<string>();

  const write = (part: AgentTextPart): void => {
    const { id, messageID, type: kind, text } = part;
    writer.setText({ id, messageID, kind, text, isOver: isOver(part) });
  };
  return {
    hear(part) {
      if (writer.isTextOver(part.id) && !isEmptied(part)) return;
      sure.add(part.id);
      write(part);
    },
    hearMore({ partID, delta }) {
      if (sure.has(partID) && !writer.isTextOver(partID)) writer.addText(partID, delta);
    },
    see(part) {
      // What is still being said may have got further, or begun anew, since the list was made.
      const isOld = writer.isTextOver(part.id) || (sure.has(part.id) && !isOver(part));
      if (isEmptied(part) || !isOld) write(part);
    },
    doubt: () => sure.clear(),
  };
};

/** Which user messages a turn answers: its prompt, and what the agent puts in by itself to go on after a summary. */
export type TurnPrompts = {
  readonly promptID: () => string | undefined;
  readonly has: (messageID: string) => boolean;
  /** An event tells of a user message. The first that is not known from before is the prompt. */
  readonly hear: (messageID: string) => void;
  /** An event tells of a part. Those of user messages say who has written them. */
  readonly hearPart: (part: PartRecord) => void;
  /** Looks for the prompt, and for what follows it, in a list. */
  readonly see: (records: readonly MessageRecord[]) => void;
  /** The agent says what its answer answers. */
  readonly settle: (messageID: string) => void;
};

const isOwnText = (part: PartRecord): boolean => part.type === 'text' && part.synthetic !== true;
const isSynthetic = (part: PartRecord): boolean => part.type === 'text' && part.synthetic === true;

/** The newest prompt that is not known. What the agent asks itself is none, and a prompt with words is surer to be one. */
const newestIn = (records: readonly MessageRecord[], earlier: ReadonlySet<string>): string | undefined => {
  const prompts = promptIDsAfter(records, earlier);
  const isInWords = (id: string) => records.some(({ info, parts }) => info.id === id && parts.some(isOwnText));
  return prompts.findLast(isInWords) ?? prompts.at(-1);
};

/** `earlier` are user messages known from before, which are told again when the agent changes something about them. */
export const createTurnPrompts = (earlier: ReadonlySet<string>): TurnPrompts => {
  let promptID: string | undefined;
  const prompts = new Set<string>();
  /** User messages that events have told of, and whether somebody has written something in them. */
  const heard = new Map<string, boolean>();

  const settle = (messageID: string): void => {
    if (prompts.has(messageID)) return;
    promptID = messageID;
    prompts.add(messageID);
  };
  return {
    promptID: () => promptID,
    has: (messageID) => prompts.has(messageID),
    settle,
    hear(messageID) {
      if (!heard.has(messageID)) heard.set(messageID, false);
      if (promptID === undefined && !earlier.has(messageID)) settle(messageID);
    },
    hearPart(part) {
      const { messageID } = part;
      if (!heard.has(messageID) || earlier.has(messageID) || messageID === promptID || promptID === undefined) return;
      if (isOwnText(part)) {
        heard.set(messageID, true);
        prompts.delete(messageID);
      } else if (isSynthetic(part) && heard.get(messageID) === false) prompts.add(messageID);
    },
    see(records) {
      const newest = promptID === undefined ? newestIn(records, earlier) : undefined;
      if (newest !== undefined) settle(newest);
      const place = records.findIndex(({ info }) => info.id === promptID);
      if (place === -1) return;
      for (const { info, parts } of records.slice(place + 1)) {
        if (info.role === 'user' && parts.some(isSynthetic) && !parts.some(isOwnText)) prompts.add(info.id);
      }
    },
  };
};

type ToolPart = Extract<PartRecord, { readonly type: 'tool' }>;

/** More of a call's arguments or output is nothing to look at, and a client would hold it all. */
const SHOWN_CHARS = 64 * 1024;

export type TurnReducer = {
  /** Takes an event of the session. What belongs to other turns changes nothing. */
  readonly applyEvent: (event: AgentEventRecord) => void;
  /**
   * Takes messages as the agent lists them. They may be older than the last event, and never take anything back; but after
   * `doubt` they have to be newer than that.
   */
  readonly applySnapshot: (records: readonly MessageRecord[]) => void;
  /** Events were lost: those that come from now on wait for a list that tells what was. */
  readonly noteGap: () => void;
  /** Says which user message was answered. */
  readonly setPrompt: (messageID: string) => void;
  /** The user message that this turn answers, as soon as it is known. */
  readonly promptID: () => string | undefined;
  /** Whether everything of a message has been seen as it is when complete. */
  readonly isComplete: (messageID: string) => boolean;
  /** Whether a message is one of this turn's answers. */
  readonly hasAnswer: (messageID: string) => boolean;
  /** The last answer so far. */
  readonly lastAnswer: () => AssistantInfo | undefined;
};

const usageOf = (messages: Iterable<AssistantInfo>): Usage => {
  let total = NO_USAGE;
  for (const { tokens } of messages) {
    if (tokens === undefined) continue;
    const { input, output, reasoning, cache } = tokens;
    total = {
      prompt: total.prompt + input + cache.read + cache.write,
      cached: total.cached + cache.read,
      completion: total.completion + output + reasoning,
      reasoning: total.reasoning + reasoning,
    };
  }
  return total;
};

const outputOf = ({ state }: ToolPart): { output: string; isError: boolean } | undefined => {
  if (state.status === 'completed') return { output: state.output.slice(0, SHOWN_CHARS), isError: false };
  if (state.status === 'error') return { output: state.error.slice(0, SHOWN_CHARS), isError: true };
  return undefined;
};

/** A call of an attempt that counts for nothing, because its backend was asked again. */
const isWithdrawn = ({ state }: ToolPart): boolean => state.status === 'error' && state.metadata?.withdrawn === true;
const isHidden = (part: AgentTextPart): boolean => part.synthetic === true || part.ignored === true;

/**
 * Makes a turn's log of the agent's events and lists. One turn of a session is under way at a time, and it is all the
 * assistant messages that answer one user message; `earlier` are user messages known from before, which are told again when
 * the agent changes something about them. Events of the user's own message are never taken for an answer.
 */
export const createTurnReducer = (writer: TurnLogWriter, earlier: ReadonlySet<string>): TurnReducer => {
  const prompts = createTurnPrompts(earlier);
  const texts = createRecordedTexts(writer);
  const answers = new Map<string, AssistantInfo>();
  /** What happened after events were lost, until it is known what happened before it. */
  let waiting: AgentEventRecord[] | undefined;

  const takeAnswer = (info: MessageInfo): void => {
    if (info.role === 'user' || !prompts.has(info.parentID) || info.summary === true) return;
    const known = answers.get(info.id);
    if (known?.time.completed !== undefined && info.time.completed === undefined) return;
    answers.set(info.id, info);
    writer.setUsage(usageOf(answers.values()));
  };
  const endIfComplete = ({ id }: MessageInfo): void => {
    if (answers.get(id)?.time.completed !== undefined) writer.endMessage(id);
  };
  const takeCall = (part: ToolPart): void => {
    // Its arguments are not there yet, and a client is told them once.
    if (part.state.status === 'pending' || isWithdrawn(part)) return;
    const result = outputOf(part);
    if (result === undefined && writer.hasResult(part.id)) return;
    const input = JSON.stringify(part.state.input).slice(0, SHOWN_CHARS);
    const call = { id: part.callID, name: part.tool, input };
    writer.setCall({ kind: 'call', id: part.id, call, result });
  };
  const takePart = (part: PartRecord, takeText: (text: AgentTextPart) => void): void => {
    if (!answers.has(part.messageID) || part.type === 'other') return;
    if (part.type === 'tool') takeCall(part);
    else if (!isHidden(part)) takeText(part);
  };
  const takeNow = (event: AgentEventRecord): void => {
    if (event.type === 'message.updated') {
      const { info } = event.properties;
      if (info.role === 'user') prompts.hear(info.id);
      takeAnswer(info);
      endIfComplete(info);
    } else if (event.type === 'message.part.updated') {
      prompts.hearPart(event.properties.part);
      takePart(event.properties.part, texts.hear);
    } else if (event.type === 'message.part.delta' && event.properties.field === 'text') {
      texts.hearMore(event.properties);
    }
  };

  return {
    applyEvent(event) {
      if (waiting === undefined) takeNow(event);
      else waiting.push(event);
    },
    applySnapshot(records) {
      prompts.see(records);
      for (const { info, parts } of records) {
        takeAnswer(info);
        for (const part of parts) takePart(part, texts.see);
        endIfComplete(info);
      }
      const events = waiting ?? [];
      waiting = undefined;
      for (const event of events) takeNow(event);
    },
    noteGap() {
      texts.doubt();
      waiting = [];
    },
    setPrompt: prompts.settle,
    promptID: prompts.promptID,
    isComplete: (messageID) => answers.get(messageID)?.time.completed !== undefined,
    hasAnswer: (messageID) => answers.has(messageID),
    lastAnswer: () => [...answers.values()].at(-1),
  };
};
