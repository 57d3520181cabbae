import { isRecord, parseJsonValue } from '../../../core/json.ts';
import { joinPublications, type Publication } from '../../events/publisher.ts';
import { createAnswer, messagePublication, partPublication } from '../../events/records.ts';
import { CLIENT_TOOL, UNANSWERED } from '../../protocol/call-metadata.ts';
import type { GivenCall, GivenMessage } from '../../protocol/given-messages.ts';
import type { ModelRef, Part, ToolPart, UserMessage } from '../../protocol/types.ts';
import type { AgentRuntime } from '../../runtime.ts';
import { callEndPublication } from '../../tools/call-end.ts';
import { turnRefusal } from '../refusals.ts';

const NO_RESULT = 'No result was given';

/** Where messages of a history are stored, and who counts as having answered them. */
type ImportPlace = {
  readonly session: { readonly id: string; readonly directory: string };
  readonly agent: string;
  readonly model: ModelRef;
  readonly now: number;
  /** The last message of the session. */
  readonly lastID: string | undefined;
};

type Given<Role extends GivenMessage['role']> = Extract<GivenMessage, { readonly role: Role }>;
type Answered = { readonly answer: Given<'assistant'>; readonly results: Map<GivenCall, Given<'tool'>> };

/** The messages with the results at their calls. A result is of the last call of its id that has none. */
const pairResults = (messages: readonly GivenMessage[]): readonly (Given<'user'> | Answered)[] => {
  const paired: (Given<'user'> | Answered)[] = [];
  const waiting: { readonly call: GivenCall; readonly of: Answered }[] = [];
  for (const message of messages) {
    if (message.role === 'user') paired.push(message);
    else if (message.role === 'assistant') {
      const answered: Answered = { answer: message, results: new Map() };
      paired.push(answered);
      for (const call of message.calls ?? []) waiting.push({ call, of: answered });
    } else {
      const at = waiting.findLastIndex(({ call }) => call.id === message.callID);
      const [found] = at < 0 ? [] : waiting.splice(at, 1);
      if (found === undefined) throw turnRefusal('unknown_call', { callIDs: [message.callID] });
      found.of.results.set(found.call, message);
    }
  }
  return paired;
};

/** Arguments that are no JSON object are kept as they were written. */
const inputOf = (written: string): Readonly<Record<string, unknown>> => {
  const value = parseJsonValue(written);
  return isRecord(value) ? value : { arguments: written };
};

const callPublication = (
  runtime: AgentRuntime,
  part: ToolPart,
  { result, now }: { readonly result: Given<'tool'> | undefined; readonly now: number },
): Publication => {
  const time = { start: now, end: now };
  if (result === undefined) {
    const { input } = part.state;
    const state = { status: 'error' as const, input, error: NO_RESULT, metadata: UNANSWERED, time };
    return partPublication({ ...part, state }, now);
  }
  const { output, isError = false, files = [] } = result;
  const outcome = { output, title: part.tool, metadata: CLIENT_TOOL, isError, files };
  return callEndPublication(runtime, { part, outcome, time });
};

const answerPublication = (
  runtime: AgentRuntime,
  { answer, results }: Answered,
  { session, agent, model, now, id, promptID }: ImportPlace & { readonly id: string; readonly promptID: string },
): Publication => {
  const { text = '', reasoning = '', calls = [] } = answer;
  const location = () => ({ id: runtime.ids('part'), sessionID: session.id, messageID: id });
  const time = { start: now, end: now };
  const texts: Part[] = [
    ...(reasoning === '' ? [] : [{ ...location(), type: 'reasoning' as const, text: reasoning, time }]),
    ...(text === '' ? [] : [{ ...location(), type: 'text' as const, text, time }]),
  ];
  const made = calls.map((call) => {
    const state = { status: 'pending' as const, input: inputOf(call.arguments), raw: call.arguments };
    const part: ToolPart = { ...location(), type: 'tool', callID: call.id, tool: call.name, state };
    return callPublication(runtime, part, { result: results.get(call), now });
  });
  const opened = createAnswer({ session, user: { id: promptID } }, { agent, model }, { id, now });
  const finish = calls.length > 0 ? ('tool-calls' as const) : ('stop' as const);
  const info = { ...opened, finish, time: { created: now, completed: now } };
  return joinPublications(messagePublication(info), ...texts.map((part) => partPublication(part, now)), ...made);
};

const userPublication = (
  { ids }: AgentRuntime,
  parts: Given<'user'>['parts'],
  { session, agent, model, now, id }: ImportPlace & { readonly id: string },
): Publication => {
  const user: UserMessage = { id, sessionID: session.id, role: 'user', time: { created: now }, agent, model };
  const stored = parts.map((part) => ({ ...part, id: ids('part'), sessionID: session.id, messageID: id }));
  return joinPublications(messagePublication(user), ...stored.map((part) => partPublication(part, now)));
};

/** Messages to store, in their order. */
export type ImportedMessages = {
  readonly publications: readonly Publication[];
  /** Without those of empty questions. */
  readonly messageIDs: readonly string[];
  readonly lastID: string | undefined;
};

/**
 * Messages of clients as what they are: questions, answers, and calls with their results. One by one, each with the changes and
 * events that store it. An answer at the beginning gets an empty question.
 */
export const importMessages = (
  runtime: AgentRuntime,
  messages: readonly GivenMessage[],
  place: ImportPlace,
): ImportedMessages => {
  let { lastID } = place;
  /** The last user message, which an answer without one before it answers. */
  let promptID: string | undefined;
  const publications: Publication[] = [];
  const messageIDs: string[] = [];
  const nextID = (): string => {
    lastID = runtime.ids('message', lastID);
    return lastID;
  };
  for (const one of pairResults(messages)) {
    if ('role' in one || promptID === undefined) {
      promptID = nextID();
      publications.push(userPublication(runtime, 'role' in one ? one.parts : [], { ...place, id: promptID }));
      if ('role' in one) messageIDs.push(promptID);
    }
    if ('role' in one) continue;
    const id = nextID();
    publications.push(answerPublication(runtime, one, { ...place, id, promptID }));
    messageIDs.push(id);
  }
  return { publications, messageIDs, lastID };
};
