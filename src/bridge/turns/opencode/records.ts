import { extendChain } from '../../../core/http/history-digests.ts';
import type { BeginRequest, TurnSnapshot } from '../port.ts';
import { answerTextOf, entriesOf, toolsOf, usageOf } from './entries.ts';
import { markOf } from './marks.ts';
import { NEVER } from './needs.ts';
import type { RunEnd } from './run.ts';
import {
  addConversation,
  callLater,
  type EndFacts,
  type KnownConversation,
  newIDOf,
  type TurnRecord,
  type TurnsState,
  turnsIn,
} from './state.ts';
import type { Step } from './steps.ts';

const NO_TURN: Promise<undefined> = Promise.resolve(undefined);
/** A turn that is not kept stays for so long when its reader has left, so that a retry finds it. */
const UNREAD_MS = 600_000;

/** A turn that has not begun. */
export const newTurn = ({ needs }: TurnsState, request: BeginRequest, owner: string): TurnRecord => {
  const { key, digest, abortAfterMs, isStored, metadata, model } = request;
  return {
    ...{ id: newIDOf('trn', needs), owner, key, digest, abortAfterMs, isStored, metadata },
    createdMs: needs.clock.now(),
    starting: new AbortController(),
    model: model === undefined ? '' : `${model.providerID}/${model.modelID}`,
    begun: NO_TURN,
    conversation: undefined,
    ...{ sessionID: '', promptID: '', from: 0, run: undefined, end: undefined },
    ...{ readers: new Set(), joins: 0, shownIDs: new Set() },
  };
};

/** A conversation without a session. */
export const openConversation = (
  state: TurnsState,
  given: Pick<KnownConversation, 'owner' | 'name' | 'isOfClient' | 'metadata'>,
): KnownConversation => {
  const createdMs = state.needs.clock.now();
  const own = {
    id: newIDOf('cnv', state.needs),
    createdMs,
    sessionID: '',
    tip: { digest: '' },
    addedIDs: new Set<string>(),
  };
  const conversation: KnownConversation = { ...given, ...own };
  addConversation(state, conversation);
  return conversation;
};

/** The range of positions of a turn. */
export const rangeOf = ({ from, until = Number.POSITIVE_INFINITY }: TurnRecord) => ({ after: from, until });

const factsOf = (
  record: TurnRecord,
  steps: readonly Step[],
  { status, error }: Pick<EndFacts, 'status' | 'error'>,
  endedMs: number,
): EndFacts => {
  const range = rangeOf(record);
  const last = steps.at(-1)?.info;
  return {
    ...{ status, endedMs, error, usage: usageOf(steps, range), tools: toolsOf(steps) },
    position: entriesOf(steps, range).at(-1)?.position ?? record.from,
    model: last === undefined || last.modelID === '' ? record.model : `${last.providerID}/${last.modelID}`,
    finish: last?.finish,
    structured: steps.findLast(({ info }) => info.structured !== undefined)?.info.structured,
  };
};

/** A turn as it is now. */
export const turnViewOf = (record: TurnRecord): TurnSnapshot => {
  const { id, conversation, sessionID, promptID, isStored, metadata, createdMs, run } = record;
  const waiting = run?.waiting() ?? [];
  const {
    status,
    endedMs,
    tools: _tools,
    ...facts
  } = record.end ?? factsOf(record, run?.steps ?? [], { status: 'completed' }, createdMs);
  const openStatus = waiting.length > 0 ? 'waiting' : 'running';
  return {
    ...{ id, conversationID: conversation?.id ?? '', conversationName: conversation?.name, sessionID, promptID },
    ...{ isStored, metadata, createdMs, waiting: [...waiting], ...facts },
    status: record.end === undefined ? openStatus : status,
    endedMs: record.end === undefined ? undefined : endedMs,
    ...{ from: record.from, until: record.until, continuedBy: record.continuedBy },
    ...{ messageIDs: [promptID], callIDs: [], calls: [], shownIDs: [...record.shownIDs], readTo: record.readTo },
  };
};

/** Ends the turn of a run: what follows is in its messages at the agent. */
export const endTurn = (state: TurnsState, record: TurnRecord, end: RunEnd, steps: readonly Step[]): void => {
  const { needs } = state;
  const { conversation, chain } = record;
  record.end = factsOf(record, steps, end, needs.clock.now());
  record.run = undefined;
  if (conversation?.openTurn === record) conversation.openTurn = undefined;
  if (conversation?.lastTurnID === record.id) conversation.tip = { digest: undefined };
  removeIfRead(state, record);
  if (end.status !== 'completed' || chain === undefined) return;
  const answer = [{ role: 'assistant', text: answerTextOf(steps) }] as const;
  const setTip = (digest: string): void => {
    record.endChain = digest;
    if (conversation?.lastTurnID === record.id) conversation.tip = { digest };
  };
  needs.runInSlices(extendChain(chain, answer, needs.digest), NEVER).then(setTip, () => {});
};

/** A new turn goes on where a reader of `before` has come to. The returned function takes that back, unless the run has ended. */
export const continueTurn = (state: TurnsState, before: TurnRecord, next: TurnRecord): (() => void) => {
  const { conversation, run } = before;
  const steps = run?.steps ?? [];
  const from = before.readTo ?? entriesOf(steps, rangeOf(before)).at(-1)?.position ?? before.from;
  before.until = from;
  before.continuedBy = next.id;
  before.end = factsOf(before, steps, { status: 'continued' }, state.needs.clock.now());
  before.run = undefined;
  next.conversation = conversation;
  next.sessionID = before.sessionID;
  next.promptID = before.promptID;
  next.chain = before.chain;
  next.from = from;
  next.run = run;
  if (conversation === undefined) return () => {};
  conversation.openTurn = next;
  conversation.lastTurnID = next.id;
  return () => {
    if (next.end !== undefined) return;
    before.until = undefined;
    before.continuedBy = undefined;
    before.end = undefined;
    before.run = run;
    conversation.openTurn = before;
    conversation.lastTurnID = before.id;
  };
};

/** Forgets a turn; with the last one of a conversation that no client has created, its session is deleted. */
export const removeTurn = async (state: TurnsState, record: TurnRecord): Promise<void> => {
  const { turns, conversations, needs } = state;
  const { conversation, sessionID } = record;
  turns.delete(record.id);
  if (conversation === undefined || conversation.isOfClient || turnsIn(state, conversation).length > 0) return;
  conversations.delete(conversation.id);
  await needs.agent.deleteSession(sessionID, NEVER);
};

/** Forgets a turn that is not kept once it was read, or nobody has come for it. */
export const removeIfRead = (state: TurnsState, record: TurnRecord): void => {
  const { needs, turns } = state;
  if (record.isStored || record.end === undefined || record.readers.size > 0) return;
  const remove = (): void => {
    if (turns.get(record.id) !== record || record.readers.size > 0) return;
    removeTurn(state, record).catch(() => needs.log('warn', 'session-not-deleted'));
  };
  if (record.readMs === undefined) callLater(state, UNREAD_MS, remove);
  else remove();
};

/** Creates the session of a conversation, with a mark by which it is found after a restart. */
export const createSessionFor = async (
  { needs }: TurnsState,
  conversation: KnownConversation,
  title: string,
  signal: AbortSignal,
): Promise<string> => (await needs.agent.createSession({ title, metadata: markOf(conversation) }, signal)).id;
