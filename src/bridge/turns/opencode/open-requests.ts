import { pause } from '../../../core/async.ts';
import { setNewest } from '../../../core/bounded-map.ts';
import { Fault, isNotFound } from '../../../core/fault.ts';
import { withRetries } from '../../agent/errors.ts';
import type { PermissionRecord } from '../../agent/schema.ts';
import { refused } from '../../errors.ts';
import type { TurnDecision } from '../port.ts';
import type { AgentUpdate } from './feed.ts';
import { NEVER, type TurnsNeeds } from './needs.ts';

/** The permission requests of the sessions that are watched, with those of their child sessions. */
export type OpenRequests = {
  /** Calls `onChange` when the requests of a session change, until `stop` is called. */
  readonly watch: (
    sessionID: string,
    onChange: () => void,
  ) => { readonly open: () => readonly PermissionRecord[]; readonly stop: () => void };
  /** Faults with `turn-refused` `no_such_request` where it is not open any more. */
  readonly reply: (decision: TurnDecision) => Promise<void>;
  readonly stop: () => void;
};

const SESSIONS_LIMIT = 10_000;
const ANSWERED_LIMIT = 1000;
/** OpenCode asks for permission before it has stored the arguments of the call. */
const INPUT_PAUSES_MS = [50, 100, 200, 400, 800, 0] as const;

/** The request with the arguments of its call, read from its message where it has none, as those of OpenCode for MCP tools. */
const withArguments = async (
  request: PermissionRecord,
  { agent, clock }: TurnsNeeds,
  signal: AbortSignal,
): Promise<PermissionRecord> => {
  const { sessionID, tool, metadata } = request;
  const { preview: _preview, title: _title, ...given } = metadata;
  if (tool === undefined || Object.keys(given).length > 0) return request;
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
const createRoots = ({ agent }: TurnsNeeds) => {
  const parents = new Map<string, string | undefined>();
  return async function rootOf(sessionID: string, signal: AbortSignal): Promise<string> {
    if (!parents.has(sessionID)) {
      const { parentID } = await agent.session(sessionID, signal);
      setNewest(parents, [sessionID, parentID], SESSIONS_LIMIT);
    }
    const parent = parents.get(sessionID);
    return parent === undefined ? sessionID : rootOf(parent, signal);
  };
};

/** Lists the agent's permission requests whenever one may have changed. Rejects questions, which clients cannot answer. */
export const followRequests = (needs: TurnsNeeds): OpenRequests => {
  const { agent, feed, log } = needs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const rootOf = createRoots(needs);
  const watchers = new Map<string, () => void>();
  const open = new Map<string, { readonly request: PermissionRecord; readonly root: string }>();
  /** As the agent listed them last. */
  let listed: readonly string[] = [];
  /** A list may be older than the answer. */
  const answered = new Map<string, true>();
  let listing: Promise<void> = Promise.resolve();

  const retry = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { ...needs, signal });
  const logFailure = (error: unknown): void => {
    const reason = error instanceof Fault ? error.detail.kind : 'bug';
    if (!signal.aborted && !isNotFound(error)) log('warn', 'asks-not-read', { reason });
  };
  const watchedRootOf = async (sessionID: string): Promise<string | undefined> => {
    if (watchers.size === 0) return undefined;
    const root = watchers.has(sessionID) ? sessionID : await retry(() => rootOf(sessionID, signal));
    return watchers.has(root) ? root : undefined;
  };
  const close = (id: string): void => {
    const root = open.get(id)?.root;
    open.delete(id);
    if (root !== undefined) watchers.get(root)?.();
  };
  const add = async (request: PermissionRecord): Promise<void> => {
    const root = await watchedRootOf(request.sessionID);
    if (root === undefined || open.has(request.id)) return;
    const complete = await withArguments(request, needs, signal);
    if (!listed.includes(request.id) || answered.has(request.id)) return;
    open.set(request.id, { request: complete, root });
    watchers.get(root)?.();
  };
  const list = async (): Promise<void> => {
    const requests = await retry(() => agent.permissionRequests(signal));
    listed = requests.map(({ id }) => id);
    for (const id of open.keys()) if (!listed.includes(id)) close(id);
    for (const request of requests) add(request).catch(logFailure);
  };
  const rejectQuestion = async ({ id, sessionID }: { readonly id: string; readonly sessionID: string }) => {
    if ((await watchedRootOf(sessionID)) !== undefined) await retry(() => agent.rejectQuestion(id, signal));
  };
  const unsubscribe = feed.subscribe((update: AgentUpdate): void => {
    if (update.type === 'question.asked') rejectQuestion(update.properties).catch(logFailure);
    else if (update.type === 'gap' || update.type === 'permission.asked' || update.type === 'permission.replied')
      listing = listing.then(list).catch(logFailure);
  });
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
    async reply(decision) {
      const { requestID } = decision;
      try {
        await agent.answerPermission(decision, NEVER);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        close(requestID);
        throw refused('no_such_request', [requestID]);
      }
      setNewest(answered, [requestID, true], ANSWERED_LIMIT);
      close(requestID);
    },
    stop() {
      unsubscribe();
      stopping.abort(new Fault({ kind: 'client-left' }));
    },
  };
};
