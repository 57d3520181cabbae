import { addTokens } from '../../model/cost.ts';
import { isClientCall } from '../../protocol/call-metadata.ts';
import { clientCallID } from '../../protocol/ids.ts';
import type { PermissionRequest } from '../../protocol/permissions.ts';
import type { Turn } from '../../protocol/turns.ts';
import {
  type AssistantMessage,
  type Finish,
  type MessageError,
  type ModelRef,
  NO_TOKENS,
  type ToolPart,
  type UserMessage,
} from '../../protocol/types.ts';
import { readAncestors, topSession } from '../../session/family.ts';
import type { Store } from '../../store/store.ts';
import type { Approvals } from '../../tools/approvals.ts';
import { STRUCTURED_OUTPUT } from '../../turn/structured-output.ts';
import { isOpenStatus, type JoinCandidate, type TurnStatus } from '../joining.ts';
import { isRefusal, turnRefusal } from '../refusals.ts';
import { type AnswerStep, callArguments, endOfStep, type LogEntry, logOf, stepOf } from './log.ts';

/** What is stored about a turn, and what it waits for, at one moment. */
export type TurnFacts = {
  readonly turn: Turn;
  readonly conversationName: string | undefined;
  readonly user: Pick<UserMessage, 'agent' | 'model'>;
  /** The steps of its prompt, and the last of them with its parts. */
  readonly steps: readonly AssistantMessage[];
  readonly last: AnswerStep | undefined;
  /** The answer to its prompt. */
  readonly answer: 'owed' | 'begun' | 'ended';
  /** Ids of the calls whose results the session waits for. */
  readonly awaited: readonly string[];
  readonly waiting: readonly PermissionRequest[];
};

/** A turn as clients see it. */
export type ShownTurn = Pick<
  Turn,
  | 'id'
  | 'conversationID'
  | 'sessionID'
  | 'promptID'
  | 'from'
  | 'until'
  | 'continuedBy'
  | 'messageIDs'
  | 'callIDs'
  | 'isStored'
  | 'metadata'
  | 'createdMs'
  | 'readTo'
  | 'shownIDs'
> & {
  readonly conversationName?: string;
  readonly status: TurnStatus;
  readonly agent: string;
  readonly model: ModelRef;
  readonly endedMs?: number;
  /** Of the output there is now. */
  readonly position: number;
  readonly usage: Readonly<Record<'input' | 'output' | 'reasoning' | 'cacheRead' | 'cacheWrite', number>>;
  readonly finish?: Finish;
  readonly error?: MessageError;
  readonly structured?: unknown;
  readonly waiting: readonly PermissionRequest[];
  /** Calls whose results the client has to give. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
};

type FactsNeeds = { readonly store: Store; readonly approvals: Approvals };

/** The open permission requests of a session and of those below it. */
export const openRequestsOf = async (
  { store, approvals }: FactsNeeds,
  sessionID: string,
): Promise<readonly PermissionRequest[]> => {
  const open = await approvals.open();
  const others = open.flatMap((request) => (request.sessionID === sessionID ? [] : [request.sessionID]));
  const known = others.length === 0 ? new Map<string, never>() : await readAncestors(store, others);
  return open.filter((request) => {
    const session = known.get(request.sessionID);
    return request.sessionID === sessionID || (session !== undefined && topSession(session, known).id === sessionID);
  });
};

const isStepOf =
  (promptID: string) =>
  (info: { readonly role: string; readonly parentID?: string }): info is AssistantMessage =>
    info.role === 'assistant' && info.parentID === promptID;

/** Reads what there is about a turn; a turnRefusal where its question is not there any more. */
export const readFacts = async ({ store, approvals }: FactsNeeds, turn: Turn): Promise<TurnFacts> => {
  const { owner, sessionID, promptID, conversationID } = turn;
  // First: of a turn that has ended by then, all messages are read.
  const owed = await store.owed(sessionID);
  const [conversation, session, heads] = await Promise.all([
    store.turns.conversation(owner, conversationID),
    store.session(sessionID),
    store.messageHeads(sessionID, { fromID: promptID }),
  ]);
  const infos = heads.map(({ info }) => info);
  const user = infos.find(({ id }) => id === promptID);
  if (user?.role !== 'user') throw turnRefusal('turn_not_found');
  const steps = infos.filter(isStepOf(promptID));
  const newest = steps.at(-1);
  const last = newest && (await store.message(sessionID, newest.id));
  const own = owed.find((one) => one.promptID === promptID);
  const isWaiting = own?.isBegun === true && turn.until === undefined;
  return {
    turn,
    conversationName: conversation?.name,
    user,
    steps,
    last: last && newest && { info: newest, parts: last.parts },
    answer: own === undefined ? 'ended' : own.isBegun ? 'begun' : 'owed',
    awaited: session?.awaitedCalls?.callIDs ?? [],
    waiting: isWaiting ? await openRequestsOf({ store, approvals }, sessionID) : [],
  };
};

/** The steps of a prompt from one on, with their parts, in their order. */
export const readSteps = async (
  store: Pick<Store, 'messageHeads' | 'messages'>,
  { sessionID, promptID }: Pick<Turn, 'sessionID' | 'promptID'>,
  firstStep: number,
): Promise<readonly AnswerStep[]> => {
  const heads = await store.messageHeads(sessionID, { fromID: promptID });
  const steps = heads.map(({ info }) => info).filter(isStepOf(promptID));
  const [first, last] = [steps[firstStep], steps.at(-1)];
  if (first === undefined || last === undefined) return [];
  const beyond = heads.find(({ info }) => info.id > last.id)?.info.id;
  const range = { fromID: first.id, ...(beyond === undefined ? {} : { beforeID: beyond }) };
  const found = await store.messages(sessionID, range);
  return found.flatMap(({ info, parts }) => (isStepOf(promptID)(info) ? [{ info, parts }] : []));
};

/** The stored output of a turn after a position. */
export const readLog = async (
  store: Pick<Store, 'messageHeads' | 'messages'>,
  turn: Turn,
  after: number,
): Promise<readonly LogEntry[]> => {
  const from = Math.max(after, turn.from);
  const firstStep = stepOf(from);
  return logOf(await readSteps(store, turn, firstStep), { firstStep, after: from, until: turn.until });
};

/** The position of the output that there is. */
export const outputPosition = ({ turn: { from, until }, steps, last }: TurnFacts): number => {
  const index = steps.length - 1;
  const before = index > 0 ? endOfStep(index - 1) : 0;
  const end = last && logOf([last], { firstStep: index, after: before, until }).at(-1)?.position;
  return Math.max(from, Math.min(until ?? Number.POSITIVE_INFINITY, end ?? before));
};

/** What a turn is doing. */
export const statusOf = ({ turn, answer, waiting, last }: TurnFacts): TurnStatus => {
  if (turn.until !== undefined) return 'continued';
  if (answer === 'owed') return 'queued';
  if (answer === 'begun') return waiting.length > 0 ? 'waiting' : 'running';
  if (last === undefined) return 'aborted';
  const { error } = last.info;
  if (error !== undefined) return error.name === 'MessageAbortedError' ? 'aborted' : 'failed';
  return last.parts.some((part) => part.type === 'tool' && isClientCall(part)) ? 'calls' : 'completed';
};

const callsOf = ({ last, awaited, turn }: TurnFacts): ShownTurn['calls'] => {
  const isAwaited = (part: ToolPart): boolean => awaited.includes(part.callID) && part.state.status === 'running';
  if (turn.until !== undefined) return [];
  return (last?.parts ?? []).flatMap((part) =>
    part.type === 'tool' && isAwaited(part)
      ? [{ id: part.callID, name: part.tool, arguments: callArguments(part) }]
      : [],
  );
};

/** The steps whose ends are in the turn's part of the output. */
const ownSteps = ({
  turn: { from, until = Number.POSITIVE_INFINITY },
  steps,
}: TurnFacts): readonly AssistantMessage[] =>
  steps.filter(({ time }, index) => {
    const end = endOfStep(index);
    return end > from && end <= until && time.completed !== undefined;
  });

/** A turn as clients see it. */
export const toShownTurn = (facts: TurnFacts): ShownTurn => {
  const { turn, conversationName, user } = facts;
  const { id, conversationID, sessionID, promptID, messageIDs, callIDs, isStored, metadata, createdMs } = turn;
  const { from, until, continuedBy, readTo, shownIDs = [] } = turn;
  const status = statusOf(facts);
  const own = ownSteps(facts);
  const last = isOpenStatus(status) ? undefined : own.at(-1);
  const { input, output, reasoning, cache } = own.reduce((sum, { tokens }) => addTokens(sum, tokens), NO_TOKENS);
  return {
    ...{
      id,
      conversationID,
      ...(conversationName === undefined ? {} : { conversationName }),
      sessionID,
      promptID,
      status,
    },
    ...{ agent: user.agent, model: user.model, isStored, metadata, createdMs },
    ...(last?.time.completed === undefined ? {} : { endedMs: last.time.completed }),
    ...{ from, ...(until === undefined ? {} : { until }), ...(continuedBy === undefined ? {} : { continuedBy }) },
    ...{ messageIDs, callIDs, position: outputPosition(facts) },
    usage: { input, output, reasoning, cacheRead: cache.read, cacheWrite: cache.write },
    ...(last?.finish === undefined ? {} : { finish: last.finish }),
    ...(last?.error === undefined ? {} : { error: last.error }),
    ...(last?.structured === undefined ? {} : { structured: last.structured }),
    ...{ waiting: facts.waiting, shownIDs, calls: callsOf(facts) },
    ...(readTo === undefined ? {} : { readTo }),
  };
};

/** A turn as an equal request may join it. */
const readCandidate = async (needs: FactsNeeds, turn: Turn): Promise<JoinCandidate> => {
  const facts = await readFacts(needs, turn);
  const status = statusOf(facts);
  // Of any other the tools do not matter.
  const mayBegin = status === 'aborted' || status === 'failed' || (isOpenStatus(status) && turn.leftMs !== undefined);
  const log = mayBegin ? await readLog(needs.store, turn, turn.from) : [];
  // A call of the client that was cut off while the model wrote it has only its id to tell.
  const isOfAgent = ({ isForClient, callID, partID }: Extract<LogEntry, { readonly type: 'call' }>): boolean =>
    !isForClient && callID !== clientCallID(partID);
  const names = log.flatMap((entry) => (entry.type === 'call' && isOfAgent(entry) ? [entry.name] : []));
  const tools = [...new Set(names)].filter((name) => name !== STRUCTURED_OUTPUT);
  return { turn, status, endedMs: ownSteps(facts).at(-1)?.time.completed, tools };
};

/** The same; undefined where the question of the turn is not there any more. */
export const findCandidate = (needs: FactsNeeds, turn: Turn): Promise<JoinCandidate | undefined> =>
  readCandidate(needs, turn).catch((error: unknown) => {
    if (isRefusal(error, 'turn_not_found')) return undefined;
    throw error;
  });
