import { pause } from '../../../core/async.ts';
import { setNewest } from '../../../core/bounded-map.ts';
import { Fault } from '../../../core/fault.ts';
import { isNotFound, withRetries } from '../../agent/errors.ts';
import type { PermissionRecord } from '../../agent/schema.ts';
import type { AgentEventUpdate } from '../../agent/types.ts';
import { refused } from '../../errors.ts';
import type { TurnDecision } from '../port.ts';
import { NEVER, type TurnsNeeds } from './needs.ts';

/** The permission requests of the sessions that are watched, with those of their child sessions. */
export type OpenRequests = {
  /** Calls `onChange` when the requests of a session change, until `stop` is called. */
  readonly watch: (sessionID: string, onChange: () => void) => WatchedRequests;
  /** Faults with `turn-refused` `no_such_request` where it is not open any more. */
  readonly reply: (decision: TurnDecision) => Promise<void>;
  readonly stop: () => void;
};
export type WatchedRequests = { readonly open: () => readonly PermissionRecord[]; readonly stop: () => void };

type Needs = Pick<TurnsNeeds, 'agent' | 'feed' | 'clock' | 'chance' | 'log'>;

const SESSIONS_LIMIT = 10_000;
const DEPTH_LIMIT = 10;
const CLOSED_LIMIT = 1000;
/** OpenCode asks for permission before it has stored the arguments of the call. */
const INPUT_PAUSES_MS = [50, 100, 200, 400, 800, 0] as const;

/** Whether a request has none of its call's arguments, as those of OpenCode for tools of an MCP server. */
const lacksInput = ({ tool, metadata }: PermissionRecord): boolean => {
  const { preview: _preview, title: _title, ...given } = metadata;
  return tool !== undefined && Object.keys(given).length === 0;
};

/** The request with the arguments of its call, read from its message; as it is where the agent does not show them. */
const withInput = async (
  request: PermissionRecord,
  { agent, clock }: Needs,
  signal: AbortSignal,
): Promise<PermissionRecord> => {
  const { sessionID, tool, metadata } = request;
  if (tool === undefined || !lacksInput(request)) return request;
  for (const pauseMs of INPUT_PAUSES_MS) {
    const message = await agent.message(sessionID, tool.messageID, signal).catch(() => undefined);
    const call = message?.parts.find((part) => part.type === 'tool' && part.callID === tool.callID);
    if (call?.type === 'tool' && call.state.status !== 'pending')
      return { ...request, metadata: { ...metadata, input: call.state.input } };
    if (pauseMs > 0) await pause(clock, pauseMs, signal);
  }
  return request;
};

/** The topmost parent of a session: an agent that hands a task to another one runs it in a child session. */
const createRoots = ({ agent }: Needs) => {
  const parents = new Map<string, string | undefined>();
  const parentOf = async (id: string, signal: AbortSignal): Promise<string | undefined> => {
    if (!parents.has(id)) setNewest(parents, [id, (await agent.session(id, signal)).parentID], SESSIONS_LIMIT);
    return parents.get(id);
  };
  return async (sessionID: string, signal: AbortSignal): Promise<string> => {
    let root = sessionID;
    for (let depth = 0; depth < DEPTH_LIMIT; depth += 1) {
      const parent = await parentOf(root, signal);
      if (parent === undefined) break;
      root = parent;
    }
    return root;
  };
};

/** Follows the agent's permission requests. Rejects questions, which clients cannot answer. */
export const followRequests = (needs: Needs): OpenRequests => {
  const { agent, feed, clock, chance, log } = needs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const rootOf = createRoots(needs);
  const watchers = new Map<string, () => void>();
  const open = new Map<string, { readonly request: PermissionRecord; readonly root: string }>();
  /** Of requests that were answered: a list, or the search for a root, may come later than the answer. */
  const closed = new Map<string, true>();

  const retry = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { clock, chance, signal });
  const logFailure = (error: unknown): void => {
    const reason = error instanceof Fault ? error.detail.kind : 'bug';
    if (!signal.aborted && !isNotFound(error)) log('warn', 'asks-not-read', { reason });
  };
  const close = (id: string): void => {
    setNewest(closed, [id, true], CLOSED_LIMIT);
    const root = open.get(id)?.root;
    open.delete(id);
    if (root !== undefined) watchers.get(root)?.();
  };
  const watchedRootOf = async (sessionID: string): Promise<string | undefined> => {
    const root = watchers.has(sessionID) ? sessionID : await retry(() => rootOf(sessionID, signal));
    return watchers.has(root) ? root : undefined;
  };
  const add = async (request: PermissionRecord): Promise<void> => {
    const root = watchers.size === 0 ? undefined : await watchedRootOf(request.sessionID);
    if (root === undefined) return;
    const complete = await withInput(request, needs, signal);
    if (closed.has(request.id) || open.has(request.id)) return;
    open.set(request.id, { request: complete, root });
    watchers.get(root)?.();
  };
  const readAll = async (): Promise<void> => {
    const known = [...open.keys()];
    const listed = await retry(() => agent.permissionRequests(signal));
    for (const id of known) if (listed.every((request) => request.id !== id)) close(id);
    await Promise.all(listed.map(add));
  };
  const rejectQuestion = async ({ id, sessionID }: { readonly id: string; readonly sessionID: string }) => {
    if (watchers.size > 0 && (await watchedRootOf(sessionID)) !== undefined)
      await retry(() => agent.rejectQuestion(id, signal));
  };
  const onUpdate = (update: AgentEventUpdate): void => {
    if (update.kind === 'gap') readAll().catch(logFailure);
    else if (update.event.type === 'permission.asked') add(update.event.properties).catch(logFailure);
    else if (update.event.type === 'permission.replied') close(update.event.properties.requestID);
    else if (update.event.type === 'question.asked') rejectQuestion(update.event.properties).catch(logFailure);
  };
  const unsubscribe = feed.subscribe(onUpdate);
  return {
    watch(sessionID, onChange) {
      watchers.set(sessionID, onChange);
      return {
        open: () => [...open.values()].flatMap(({ request, root }) => (root === sessionID ? [request] : [])),
        stop() {
          watchers.delete(sessionID);
          for (const [id, { root }] of open) if (root === sessionID) open.delete(id);
        },
      };
    },
    async reply({ requestID, reply, message }) {
      try {
        const answer = { reply, ...(message === undefined ? {} : { message }) };
        await agent.answerPermission(requestID, answer, NEVER);
      } catch (error) {
        if (isNotFound(error)) close(requestID);
        throw isNotFound(error) ? refused('no_such_request', [requestID]) : error;
      }
      close(requestID);
    },
    stop() {
      unsubscribe();
      stopping.abort(new Fault({ kind: 'client-left' }));
    },
  };
};
