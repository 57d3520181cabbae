import * as v from 'valibot';
import { createDeadline, pause, untilAborted } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import { type ConnectionState, readEventConnection } from '../../../core/http/event-connection.ts';
import { isRecord, parseJsonValue } from '../../../core/json.ts';
import type { Runtime } from '../../../core/runtime.ts';
import { Id, MessageInfo, PartRecord } from '../../agent/schema.ts';
import { type AgentTransport, createAgentUrls } from '../../agent/servers.ts';

/** The events that matter here. OpenCode sends many others. */
export const AgentEventRecord = v.variant('type', [
  v.object({
    type: v.literal('message.part.delta'),
    properties: v.object({ sessionID: Id, messageID: Id, partID: Id, field: v.string(), delta: v.string() }),
  }),
  v.object({ type: v.literal('message.part.updated'), properties: v.object({ part: PartRecord }) }),
  v.object({ type: v.literal('message.updated'), properties: v.object({ info: MessageInfo }) }),
  v.object({ type: v.picklist(['permission.asked', 'permission.replied']), properties: v.unknown() }),
  v.object({ type: v.literal('question.asked'), properties: v.object({ id: Id, sessionID: Id }) }),
]);
export type AgentEventRecord = v.InferOutput<typeof AgentEventRecord>;

/** Types that are parsed. */
const KNOWN_TYPES: ReadonlySet<unknown> = new Set(
  AgentEventRecord.options.flatMap(({ entries: { type } }): readonly string[] =>
    type.type === 'literal' ? [type.literal] : type.options,
  ),
);

/** An event of the agent, or a `gap`: events were lost, so the state has to be fetched from the agent. */
export type AgentUpdate = AgentEventRecord | { readonly type: 'gap' };

/** The session whose messages an update is about; undefined for any other. */
const sessionOf = (update: AgentUpdate): string | undefined => {
  if (update.type === 'message.part.delta') return update.properties.sessionID;
  if (update.type === 'message.part.updated') return update.properties.part.sessionID;
  return update.type === 'message.updated' ? update.properties.info.sessionID : undefined;
};

/** The agent's events over one connection, opened at once and reopened whenever it ends. */
export type AgentFeed = {
  /** Resolves once the stream is open, at once if it is. Faults with `backend-error` when it does not open in time. */
  readonly untilOpen: (signal: AbortSignal) => Promise<void>;
  /**
   * Calls the listener with all that comes until the returned function is called; with a session, only with its messages and gaps. It must
   * not wait.
   */
  readonly subscribe: (listener: (update: AgentUpdate) => void, sessionID?: string) => () => void;
  readonly stop: () => void;
};

type FeedNeeds = Pick<Runtime, 'clock' | 'log'> & {
  readonly transport: AgentTransport;
  /** 0 to 1; shortens the wait before the next attempt. */
  readonly chance: () => number;
};

const REOPEN_MS = 1000;
const JITTER = 0.5;
const OPENED_LIMIT_MS = 10_000;
const LOG_EVERY_MS = 60_000;

const STOPPED = new Fault({ kind: 'unavailable', message: 'The bridge is stopping', retryAfterMs: 1000 });

/** Counts events that were not understood. Logs the first at once, and further ones together with one that comes a minute later. */
const createSkippedLog = ({ clock, log }: FeedNeeds) => {
  let count = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  return (): void => {
    count += 1;
    if (clock.now() < nextAt) return;
    log('warn', 'agent-events-skipped', { count });
    nextAt = clock.now() + LOG_EVERY_MS;
    count = 0;
  };
};

/** Follows the events of a server that gives them no ids: every loss of the connection is a gap. */
export const createAgentFeed = (needs: FeedNeeds): AgentFeed => {
  const { transport, clock, log, chance } = needs;
  const { headers, urlOf } = createAgentUrls(transport);
  const listeners = new Set<{
    readonly listener: (update: AgentUpdate) => void;
    readonly sessionID?: string | undefined;
  }>();
  const stopping = new AbortController();
  const noteSkipped = createSkippedLog(needs);
  let opening = Promise.withResolvers<void>();
  let state: ConnectionState = 'opening';
  let hasBeenOpen = false;
  let lossReason = '';

  const logBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  const publish = (update: AgentUpdate): void => {
    const session = sessionOf(update);
    for (const one of [...listeners]) {
      const isFor = one.sessionID === undefined || one.sessionID === session || update.type === 'gap';
      if (!isFor || !listeners.has(one)) continue;
      try {
        one.listener(update);
      } catch (error) {
        logBug(error);
      }
    }
  };
  const open = (): void => {
    state = 'open';
    // Before those who wait for the stream continue, and before the first event.
    if (hasBeenOpen) publish({ type: 'gap' });
    hasBeenOpen = true;
    opening.resolve();
  };
  const takeData = (data: string): void => {
    const value = parseJsonValue(data);
    const type = isRecord(value) ? value.type : undefined;
    if (type === 'server.connected' && state === 'opening') open();
    else if (type === 'server.instance.disposed') state = 'over';
    else if (KNOWN_TYPES.has(type)) {
      const read = v.safeParse(AgentEventRecord, value);
      if (read.success) publish(read.output);
      else noteSkipped();
    } else if (typeof type !== 'string') noteSkipped();
  };
  const connect = () =>
    readEventConnection(
      {
        ...{ stream: transport.stream, clock, url: urlOf('/event'), headers, lastID: '' },
        onItem(item) {
          if (item.kind === 'event') takeData(item.data);
          else {
            noteSkipped();
            publish({ type: 'gap' });
          }
          return state;
        },
      },
      stopping.signal,
    );
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      lossReason = await connect().then(
        ({ reason }) => reason,
        (error: unknown) => {
          logBug(error);
          return 'bug';
        },
      );
      if (state !== 'opening') opening = Promise.withResolvers();
      state = 'opening';
      await pause(clock, REOPEN_MS * (1 - JITTER * chance()), stopping.signal).catch(() => {});
    }
  };
  void run();

  return {
    async untilOpen(signal) {
      if (stopping.signal.aborted) throw STOPPED;
      if (state === 'open') return;
      const deadline = createDeadline(clock, OPENED_LIMIT_MS, signal);
      try {
        await untilAborted(opening.promise, deadline.signal);
      } catch (error) {
        if (signal.aborted || error === STOPPED) throw error;
        const why = lossReason === '' ? '' : ` (${lossReason})`;
        throw new Fault({ kind: 'backend-error', reason: `The agent server sends no events${why}` });
      } finally {
        deadline.clear();
      }
    },
    subscribe(listener, sessionID) {
      const one = { listener, sessionID };
      listeners.add(one);
      return () => void listeners.delete(one);
    },
    stop() {
      listeners.clear();
      stopping.abort();
      opening.promise.catch(() => {});
      opening.reject(STOPPED);
    },
  };
};
