import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { OpenHttpStream } from '../../core/http/client.ts';
import { type ConnectionEnd, type ConnectionState, readEventConnection } from '../../core/http/event-connection.ts';
import type { SseItem } from '../../core/http/sse-parser.ts';
import { isRecord, parseJsonValue } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import { createEventListeners } from './event-listeners.ts';
import { AgentEventRecord, readAgentEvent } from './schema.ts';
import { type AgentLocation, createAgentUrls } from './servers.ts';
import type { AgentEventStream, AgentEventUpdate } from './types.ts';

const LOG_EVERY_MS = 60_000;

/** Counts events that were not understood. Logs the first at once, further ones together once a minute. */
const createSkippedEventLog = (clock: Clock, log: Log) => {
  let count = 0;
  let cancel: (() => void) | undefined;
  const report = (): void => {
    cancel = undefined;
    if (count === 0) return;
    log('warn', 'agent-events-skipped', { count });
    count = 0;
    cancel = clock.after(LOG_EVERY_MS, report);
  };
  return {
    add(): void {
      count += 1;
      if (cancel === undefined) report();
    },
    stop: (): void => cancel?.(),
  };
};

export type AgentEventStreamOptions = AgentLocation & {
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1; shortens the wait before the next attempt. */
  readonly chance: () => number;
};

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 15_000;
const JITTER = 0.5;
/** After a connection that lasted so long the next attempt comes soon. */
const STABLE_MS = 10_000;
const OPENED_LIMIT_MS = 10_000;

const STOPPED = new Fault({ kind: 'unavailable', message: 'The bridge is stopping', retryAfterMs: 1000 });
const GAP: AgentEventUpdate = { kind: 'gap' };

/** Types that are parsed. OpenCode sends many others, which are skipped without being parsed. */
const KNOWN_TYPES: ReadonlySet<unknown> = new Set(
  AgentEventRecord.options.flatMap(({ entries: { type } }): readonly string[] =>
    type.type === 'literal' ? [type.literal] : type.options,
  ),
);

/**
 * The agent's events over one connection, opened at once and reopened whenever it ends. Our own server then sends the events
 * that were missed; OpenCode gives its events no ids, so there every loss is a gap.
 */
export const createAgentEventStream = ({
  stream,
  clock,
  log,
  chance,
  ...location
}: AgentEventStreamOptions): AgentEventStream => {
  const { headers, urlOf } = createAgentUrls(location);
  const stopping = new AbortController();
  const skipped = createSkippedEventLog(clock, log);
  let opening = Promise.withResolvers<void>();
  let state: ConnectionState = 'opening';
  let openedAt: number | undefined;
  let hasBeenOpen = false;
  let lastID = '';
  let failures = 0;
  let lastLossReason = '';
  let waitingSince = 0;
  let endWait = (): void => {};

  const onBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  const listeners = createEventListeners(onBug);
  const { publish } = listeners;
  const open = (): void => {
    if (state !== 'opening') return;
    state = 'open';
    openedAt = clock.now();
    lastLossReason = '';
    log('info', 'agent-connected');
    // Before those who wait for the stream continue, and before the first event.
    if (hasBeenOpen && lastID === '') publish(GAP);
    hasBeenOpen = true;
    opening.resolve();
  };
  const onEvent = (data: string): void => {
    const value = parseJsonValue(data);
    const type = isRecord(value) ? value.type : undefined;
    if (type === 'server.connected') open();
    else if (type === 'server.events.lost') publish(GAP);
    else if (type === 'server.instance.disposed') state = 'over';
    else if (isRecord(value) && KNOWN_TYPES.has(type)) {
      const event = readAgentEvent(value);
      if (event === undefined) skipped.add();
      else publish({ kind: 'event', event });
    } else if (typeof type !== 'string') skipped.add();
  };
  const onItem = (item: SseItem): ConnectionState => {
    // A listener may have stopped the stream while one chunk with several events was read.
    if (stopping.signal.aborted) return 'over';
    if (item.kind === 'event') onEvent(item.data);
    else {
      skipped.add();
      publish(GAP);
    }
    return state;
  };

  const delayMsAfter = ({ retryMs }: ConnectionEnd): number => {
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures) * (1 - JITTER * chance());
    return Math.max(delayMs, Math.min(LONGEST_DELAY_MS, retryMs));
  };
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      waitingSince = clock.now();
      const cancel = clock.after(ms, resolve);
      endWait = () => {
        cancel();
        resolve();
      };
    });
  /** A request waits for the stream: the long delays that were fine while none did are too slow now. */
  const retryNow = (): void => {
    if (clock.now() - waitingSince < FIRST_DELAY_MS) return;
    failures = 0;
    endWait();
  };
  /** Logs the loss. Returns how long to wait before the next attempt. */
  const recordLoss = (end: ConnectionEnd): number => {
    const wasStable = openedAt !== undefined && clock.now() - openedAt >= STABLE_MS;
    if (state !== 'opening') opening = Promise.withResolvers();
    state = 'opening';
    openedAt = undefined;
    lastID = end.lastID;
    if (wasStable) failures = 0;
    const delayMs = delayMsAfter(end);
    failures += 1;
    // Logged once per reason.
    if (end.reason !== lastLossReason) log('warn', 'agent-lost', { reason: end.reason, restMs: Math.round(delayMs) });
    lastLossReason = end.reason;
    return delayMs;
  };
  const connect = async (): Promise<ConnectionEnd> => {
    try {
      return await readEventConnection(
        { stream, clock, url: urlOf('/event'), headers, lastID, onItem },
        stopping.signal,
      );
    } catch (error) {
      onBug(error);
      return { reason: 'bug', lastID, retryMs: 0, wasOpen: false };
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const end = await connect();
      if (!stopping.signal.aborted) await wait(recordLoss(end));
    }
  };
  void run();

  return {
    async untilOpen(signal) {
      if (stopping.signal.aborted) throw STOPPED;
      if (state === 'open') return;
      retryNow();
      const deadline = createDeadline(clock, OPENED_LIMIT_MS, signal);
      try {
        await untilAborted(opening.promise, deadline.signal);
      } catch (error) {
        if (signal.aborted || error === STOPPED) throw error;
        const why = lastLossReason === '' ? '' : ` (${lastLossReason})`;
        throw new Fault({ kind: 'backend-error', reason: `The agent server sends no events${why}` });
      } finally {
        deadline.clear();
      }
    },
    isOpen: () => state === 'open' && !stopping.signal.aborted,
    lossReason: () => lastLossReason,
    subscribe: listeners.subscribe,
    stop() {
      listeners.clear();
      skipped.stop();
      stopping.abort();
      endWait();
      opening.promise.catch(() => {});
      opening.reject(STOPPED);
    },
  };
};
