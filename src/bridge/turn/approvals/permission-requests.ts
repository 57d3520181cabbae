import { pause, untilAborted } from '../../../core/async.ts';
import { setNewest } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import { isNotFound } from '../../agent/errors.ts';
import type { PermissionRecord } from '../../agent/schema.ts';
import type { AgentClient, AgentEventStream, AgentPermissionReply } from '../../agent/types.ts';
import type { TurnLogWriter } from '../log.ts';
import { lacksInput, toApprovalRequest } from './text.ts';

/** Parent and child sessions: an agent that hands a task to another agent runs it in a child session. */
export type SessionFamilies = {
  /** The topmost parent of a session; the session itself if it has no parent. */
  readonly findRoot: (sessionID: string, signal: AbortSignal) => Promise<string>;
  readonly stop: () => void;
};

const SESSIONS_LIMIT = 10_000;
const DEPTH_LIMIT = 10;

export const createSessionFamilies = (
  agent: Pick<AgentClient, 'session'>,
  feed: Pick<AgentEventStream, 'subscribe'>,
): SessionFamilies => {
  const parents = new Map<string, string | undefined>();
  const setParent = (id: string, parent: string | undefined) => setNewest(parents, [id, parent], SESSIONS_LIMIT);
  const stop = feed.subscribe((update) => {
    if (update.kind !== 'event' || update.event.type !== 'session.created') return;
    const { id, parentID } = update.event.properties.info;
    setParent(id, parentID);
  });
  /** Reads that are under way: every turn needs the root of a request's session at the same moment. */
  const reads = new Map<string, Promise<string | undefined>>();
  const readParent = (id: string): Promise<string | undefined> => {
    const current = reads.get(id);
    if (current !== undefined) return current;
    // Shared by all callers, so no caller aborts it. The agent's client has its own time limit.
    const read = agent.session(id, new AbortController().signal).then(({ parentID }) => {
      setParent(id, parentID);
      return parentID;
    });
    reads.set(id, read);
    const remove = () => void reads.delete(id);
    read.then(remove, remove);
    return read;
  };
  const findParent = (id: string, signal: AbortSignal): Promise<string | undefined> =>
    parents.has(id) ? Promise.resolve(parents.get(id)) : untilAborted(readParent(id), signal);
  return {
    async findRoot(sessionID, signal) {
      let root = sessionID;
      for (let depth = 0; depth < DEPTH_LIMIT; depth += 1) {
        const parent = await findParent(root, signal);
        if (parent === undefined) return root;
        root = parent;
      }
      return root;
    },
    stop,
  };
};

/**
 * Reads the agent's permission requests for all turns that have lost events together: each would get the same list. Only for
 * turns that listened before the loss, because what is asked while a list is under way reaches them as an event.
 */
export type SharedPermissionRequests = {
  readonly readAfterLoss: AgentClient['permissionRequests'];
  readonly stop: () => void;
};

/** Create it before any turn listens: the next list has to be newer than the loss. */
export const sharePermissionRequests = (
  agent: Pick<AgentClient, 'permissionRequests'>,
  feed: Pick<AgentEventStream, 'subscribe'>,
): SharedPermissionRequests => {
  let current: ReturnType<AgentClient['permissionRequests']> | undefined;
  const stop = feed.subscribe((update) => {
    if (update.kind === 'gap') current = undefined;
  });
  return {
    readAfterLoss(signal) {
      // Shared by all callers, so no caller aborts it. The agent's client has its own time limit.
      const read = current ?? agent.permissionRequests(new AbortController().signal);
      current = read;
      const end = (): void => {
        if (current === read) current = undefined;
      };
      read.then(end, end);
      return untilAborted(read, signal);
    },
    stop,
  };
};

/** OpenCode asks for permission before it has stored the arguments of the call. */
const INPUT_PAUSES_MS = [50, 100, 200, 400, 800] as const;

type CallInputNeeds = {
  readonly agent: Pick<AgentClient, 'message'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

/** The arguments of the call that a permission request is about, from its message; undefined if the agent does not show them. */
const readCallInput = async (
  { sessionID, tool }: PermissionRecord,
  { agent, clock, signal }: CallInputNeeds,
): Promise<unknown> => {
  for (const pauseMs of [...INPUT_PAUSES_MS, 0]) {
    const message = tool && (await agent.message(sessionID, tool.messageID, signal).catch(() => undefined));
    const call = message?.parts.find((part) => part.type === 'tool' && part.callID === tool?.callID);
    if (call?.type === 'tool' && call.state.status !== 'pending') return call.state.input;
    if (pauseMs > 0) await pause(clock, pauseMs, signal);
  }
  return undefined;
};

/** The agent's permission requests in a turn, also those of its child sessions. */
type TurnPermissions = {
  /** Shows a request to the user, or rejects it where no user is asked. Requests of other turns change nothing. */
  readonly add: (request: PermissionRecord) => Promise<void>;
  /** The request was answered, here or by another program. */
  readonly remove: (requestID: string) => void;
  /** Faults with `not-found` when the request is not open any more. */
  readonly answer: (requestID: string, answer: AgentPermissionReply) => Promise<void>;
  /** Rejects a question that is no permission request, because clients cannot answer it. */
  readonly rejectQuestion: (question: { readonly id: string; readonly sessionID: string }) => Promise<void>;
};

type TurnPermissionsNeeds = {
  readonly agent: Pick<AgentClient, 'answerPermission' | 'message' | 'rejectQuestion'>;
  readonly clock: Clock;
  readonly sessionFamilies: SessionFamilies;
  readonly writer: Pick<TurnLogWriter, 'addApprovalRequest' | 'removeApprovalRequest'>;
  readonly sessionID: () => string;
  /** The message with which all requests are rejected. Undefined: the user is asked. */
  readonly autoRejection: string | undefined;
  /** Calls again after a failure. */
  readonly retry: <T>(call: () => Promise<T>) => Promise<T>;
  /** Aborts when the turn is over. */
  readonly signal: AbortSignal;
};

export const createTurnPermissions = (needs: TurnPermissionsNeeds): TurnPermissions => {
  const { agent, sessionFamilies, writer, autoRejection, retry, signal } = needs;
  /** All requests so far. A list, or the search for a request's root session, may come later than the answer. */
  const known = new Map<string, 'open' | 'closed'>();
  const never = new AbortController().signal;

  const isOfTurn = async (sessionID: string): Promise<boolean> => {
    if (sessionID === needs.sessionID()) return true;
    try {
      return (await retry(() => sessionFamilies.findRoot(sessionID, signal))) === needs.sessionID();
    } catch (error) {
      // The agent keeps requests of sessions that were deleted.
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  const remove = (requestID: string): void => {
    known.set(requestID, 'closed');
    writer.removeApprovalRequest(requestID);
  };
  const answer = async (requestID: string, permissionAnswer: AgentPermissionReply): Promise<void> => {
    try {
      // Not aborted when the turn ends meanwhile: the caller has to know whether the answer was accepted.
      await agent.answerPermission(requestID, permissionAnswer, never);
    } catch (error) {
      if (isNotFound(error)) remove(requestID);
      throw error;
    }
    remove(requestID);
  };
  return {
    remove,
    answer,
    async add(request) {
      if (known.has(request.id)) return;
      known.set(request.id, 'open');
      if (!(await isOfTurn(request.sessionID)) || known.get(request.id) === 'closed') return;
      if (autoRejection !== undefined) {
        await retry(() => answer(request.id, { reply: 'reject', message: autoRejection }));
        return;
      }
      const input = lacksInput(request)
        ? await readCallInput(request, { agent, clock: needs.clock, signal })
        : undefined;
      if (known.get(request.id) === 'open')
        writer.addApprovalRequest(toApprovalRequest(request, needs.sessionID(), input));
    },
    async rejectQuestion({ id, sessionID }) {
      if (await isOfTurn(sessionID)) await retry(() => agent.rejectQuestion(id, signal));
    },
  };
};
