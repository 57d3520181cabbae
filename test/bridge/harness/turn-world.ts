import type { AgentEventRecord, MessageRecord, PermissionRecord } from '../../../src/bridge/agent/schema.ts';
import type {
  AgentClient,
  AgentEventStream,
  AgentEventUpdate,
  AgentPermissionReply,
  Prompt,
} from '../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../src/bridge/errors.ts';
import { createSessionFamilies } from '../../../src/bridge/turn/approvals/permission-requests.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn, type TurnStart } from '../../../src/bridge/turn/turn.ts';
import { untilAborted } from '../../../src/core/async.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { itemsIn, SESSION } from './turn-events.ts';

export const PROMPT: Prompt = {
  parts: [{ type: 'text', text: 'Pay five' }],
  model: undefined,
  variant: undefined,
  agent: undefined,
  system: '',
  hasTools: true,
};

export const UNREACHED: BridgeFault = { kind: 'backend-error', reason: 'The agent server cannot be reached' };
export const LOST: BridgeFault = {
  ...{ kind: 'agent-failed', status: 502, code: 'agent_lost' },
  ...{ message: 'The agent server broke off', isRetryable: false },
};
export const NOT_FOUND: BridgeFault = { kind: 'not-found', hint: 'The agent server knows no such thing' };
export const REFUSED: BridgeFault = {
  ...{ kind: 'agent-failed', status: 502, code: 'agent_refused' },
  ...{ message: 'The agent server refused with status 400', isRetryable: false },
};

/** An event stream that a test tells everything. */
export const createTestFeed = () => {
  const listeners = new Set<(news: AgentEventUpdate) => void>();
  const receive = (news: AgentEventUpdate): void => {
    for (const listener of [...listeners]) listener(news);
  };
  const feed: AgentEventStream = {
    untilOpen: async () => {},
    isOpen: () => true,
    lossReason: () => '',
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop() {},
  };
  return {
    feed,
    report: (...events: readonly (AgentEventRecord | readonly AgentEventRecord[])[]): void => {
      for (const event of events.flat()) receive({ kind: 'event', event });
    },
    lose: () => receive({ kind: 'gap' }),
    listening: () => listeners.size,
  };
};

type Asked = {
  readonly sessionID: string;
  readonly prompt: Prompt;
  readonly answer: (record: MessageRecord) => void;
  readonly fail: (detail: BridgeFault) => void;
};

/** An agent of which a test says everything: what it lists, what it answers and when it fails. */
export const createTurnWorld = (given: Partial<Pick<AgentTurnNeeds, 'autoRejection'>> = {}) => {
  const clock = createFakeClock();
  const { feed, report, lose, listening } = createTestFeed();
  const calls: string[] = [];
  const faults = new Map<string, BridgeFault[]>();
  const gates = new Map<string, Promise<void>>();
  const logged: string[] = [];
  const prompts: Asked[] = [];
  const answers: { readonly id: string; readonly answer: AgentPermissionReply }[] = [];
  const parents = new Map<string, string>();
  const state = {
    messages: [] as MessageRecord[],
    asks: [] as PermissionRecord[],
    busy: new Set<string>(),
  };
  const called = async (method: keyof AgentClient, what: string, signal: AbortSignal): Promise<void> => {
    calls.push(what === '' ? method : `${method} ${what}`);
    await untilAborted(gates.get(method) ?? Promise.resolve(), signal);
    const fault = faults.get(method)?.shift();
    if (fault !== undefined) throw new Fault(fault);
  };
  const unused = async (): Promise<never> => {
    throw new Error('A turn does not call this');
  };
  const agent: AgentClient = {
    models: unused,
    createSession: unused,
    sessions: unused,
    setMetadata: unused,
    deleteSession: unused,
    forkSession: unused,
    deleteMessage: unused,
    async session(id, signal) {
      await called('session', id, signal);
      const parentID = parents.get(id);
      return { id, ...(parentID === undefined ? {} : { parentID }), time: { created: 1, updated: 1 } };
    },
    async prompt(sessionID, prompt, signal) {
      await called('prompt', sessionID, signal);
      const { promise, resolve, reject } = Promise.withResolvers<MessageRecord>();
      prompts.push({ sessionID, prompt, answer: resolve, fail: (detail) => reject(new Fault(detail)) });
      return untilAborted(promise, signal);
    },
    async message(sessionID, messageID, signal) {
      await called('message', `${sessionID} ${messageID}`, signal);
      const found = state.messages.find(({ info }) => info.id === messageID && info.sessionID === sessionID);
      if (found === undefined) throw new Fault(NOT_FOUND);
      return found;
    },
    async messages(sessionID, signal) {
      // Listed when it is asked for, however long the answer takes.
      const listed = [...state.messages];
      await called('messages', sessionID, signal);
      return listed;
    },
    async busySessions(signal) {
      await called('busySessions', '', signal);
      return new Set(state.busy);
    },
    abort: (sessionID, signal) => called('abort', sessionID, signal),
    async permissionRequests(signal) {
      await called('permissionRequests', '', signal);
      return [...state.asks];
    },
    async answerPermission(id, answer, signal) {
      await called('answerPermission', id, signal);
      answers.push({ id, answer });
    },
    features: async () => [],
    giveToolResults: () => Promise.reject(new Error('There are no calls of a client here')),
    rejectQuestion: (id, signal) => called('rejectQuestion', id, signal),
  };
  const families = createSessionFamilies(agent, feed);
  const needs: AgentTurnNeeds = {
    ...{
      agent,
      feed,
      sessionFamilies: families,
      sharedRequests: { readAfterLoss: agent.permissionRequests },
      clock,
      chance: () => 0,
      autoRejection: given.autoRejection,
    },
    log: (_level, event, fields) => void logged.push(`${event} ${fields?.reason ?? ''}`),
  };
  const start = (more: Partial<Extract<TurnStart, { kind: 'prompt' }>> = {}): AgentTurn => {
    const renew = async (): Promise<never> => {
      throw new Error('This turn needs no other session');
    };
    return startTurn(
      SESSION,
      { kind: 'prompt', prompt: PROMPT, knownMessageIDs: new Set(), renewSession: renew, ...more },
      needs,
    );
  };
  return {
    agent,
    clock,
    needs,
    report,
    lose,
    listening,
    calls,
    logged,
    prompts,
    answers,
    parents,
    state,
    start,
    find: (): AgentTurn => startTurn(SESSION, { kind: 'existing' }, needs),
    callsTo: (method: keyof AgentClient) => calls.filter((call) => call.split(' ')[0] === method).length,
    /** Makes the next calls of a method fail. */
    fail(method: keyof AgentClient, detail: BridgeFault, times = 1): void {
      faults.set(method, [...(faults.get(method) ?? []), ...Array.from({ length: times }, () => detail)]);
    },
    /** Keeps calls of a method waiting until the returned function is called. */
    hold(method: keyof AgentClient): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.set(method, promise);
      return () => {
        gates.delete(method);
        resolve();
      };
    },
  };
};
export type TurnWorld = ReturnType<typeof createTurnWorld>;

/** What a turn has come to, in short. */
export const cameTo = ({ log }: AgentTurn): string => {
  const end = log.end();
  const how = end === undefined ? 'under way' : end.kind === 'failed' ? end.failure.code : end.finish;
  return [...itemsIn(log), how].join(' | ');
};
