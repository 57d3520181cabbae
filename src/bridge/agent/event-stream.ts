import * as v from 'valibot';
import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { OpenHttpStream } from '../../core/http/client.ts';
import type { SseItem } from '../../core/http/sse-parser.ts';
import { isRecord } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import { followLink, type LinkEnd, type LinkState } from './event-connection.ts';
import { AgentEventRecord } from './schema.ts';
import { type AgentPlace, agentAddress } from './servers.ts';
import type { AgentEventStream, AgentEventUpdate } from './types.ts';

const TELL_EVERY_MS = 60_000;

/** Counts events that were not understood, and logs the first at once, further ones together once a minute. */
export const createSkipCount = (clock: Clock, log: Log) => {
  let count = 0;
  let cancel: (() => void) | undefined;
  const tell = (): void => {
    cancel = undefined;
    if (count === 0) return;
    log('warn', 'agent-events-skipped', { count });
    count = 0;
    cancel = clock.after(TELL_EVERY_MS, tell);
  };
  return {
    add(): void {
      count += 1;
      if (cancel === undefined) tell();
    },
    stop: (): void => cancel?.(),
  };
};

export type AgentEventStreamOptions = AgentPlace & {
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, and shortens what is waited before the next attempt. */
  readonly chance: () => number;
};

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 15_000;
const JITTER = 0.5;
/** A connection that lasted for so long was a good one: the next attempt comes soon. */
const STABLE_MS = 10_000;
const OPENED_LIMIT_MS = 10_000;

const STOPPED = new Fault({ kind: 'unavailable', message: 'The bridge is stopping', retryAfterMs: 1000 });
const GAP: AgentEventUpdate = { kind: 'gap' };

/** Types that are read at all: it costs little to pass over the others, of which OpenCode sends many. */
const KNOWN: ReadonlySet<unknown> = new Set(
  AgentEventRecord.options.flatMap(({ entries: { type } }): readonly string[] =>
    type.type === 'literal' ? [type.literal] : type.options,
  ),
);

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
};

/**
 * The agent's events over one connection, opened at once and again whenever it ends. Our own server sends what was missed
 * meanwhile; OpenCode gives its events no ids, so there every loss is a gap.
 */
export const createAgentEventStream = ({
  stream,
  clock,
  log,
  chance,
  ...place
}: AgentEventStreamOptions): AgentEventStream => {
  const { headers, urlOf } = agentAddress(place);
  const listeners = new Set<(news: AgentEventUpdate) => void>();
  const stopping = new AbortController();
  const skipped = createSkipCount(clock, log);
  let opening = Promise.withResolvers<void>();
  let state: LinkState = 'opening';
  let openedAt: number | undefined;
  let hasBeenOpen = false;
  let lastID = '';
  let failures = 0;
  let lostFor = '';
  let restingSince = 0;
  let endRest = (): void => {};

  const onBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  const tell = (news: AgentEventUpdate): void => {
    for (const listener of [...listeners]) {
      try {
        if (listeners.has(listener)) listener(news);
      } catch (error) {
        onBug(error);
      }
    }
  };
  const open = (): void => {
    if (state !== 'opening') return;
    state = 'open';
    openedAt = clock.now();
    lostFor = '';
    log('info', 'agent-connected');
    // Before anybody who waited goes on, and before the first event.
    if (hasBeenOpen && lastID === '') tell(GAP);
    hasBeenOpen = true;
    opening.resolve();
  };
  const takeEvent = (data: string): void => {
    const value = parsed(data);
    const type = isRecord(value) ? value.type : undefined;
    if (type === 'server.connected') open();
    else if (type === 'server.events.lost') tell(GAP);
    else if (type === 'server.instance.disposed') state = 'over';
    else if (KNOWN.has(type)) {
      const read = v.safeParse(AgentEventRecord, value);
      if (read.success) tell({ kind: 'event', event: read.output });
      else skipped.add();
    } else if (typeof type !== 'string') skipped.add();
  };
  const hear = (news: SseItem): LinkState => {
    // A listener may have stopped it in the middle of what came together.
    if (stopping.signal.aborted) return 'over';
    if (news.kind === 'event') takeEvent(news.data);
    else {
      skipped.add();
      tell(GAP);
    }
    return state;
  };

  const delayAfter = ({ retryMs }: LinkEnd): number => {
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures) * (1 - JITTER * chance());
    return Math.max(delayMs, Math.min(LONGEST_DELAY_MS, retryMs));
  };
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      restingSince = clock.now();
      const cancel = clock.after(ms, resolve);
      endRest = () => {
        cancel();
        resolve();
      };
    });
  /** Somebody waits for the stream: what was a good pace while nobody did is too slow now. */
  const hurry = (): void => {
    if (clock.now() - restingSince < FIRST_DELAY_MS) return;
    failures = 0;
    endRest();
  };
  /** Notes the loss, and says how long to stay away. */
  const lose = (end: LinkEnd): number => {
    const wasStable = openedAt !== undefined && clock.now() - openedAt >= STABLE_MS;
    if (state !== 'opening') opening = Promise.withResolvers();
    state = 'opening';
    openedAt = undefined;
    lastID = end.lastID;
    if (wasStable) failures = 0;
    const delayMs = delayAfter(end);
    failures += 1;
    // While it stays away for the same reason there is nothing new to say.
    if (end.reason !== lostFor) log('warn', 'agent-lost', { reason: end.reason, restMs: Math.round(delayMs) });
    lostFor = end.reason;
    return delayMs;
  };
  const follow = async (): Promise<LinkEnd> => {
    try {
      return await followLink({ stream, clock, url: urlOf('/event'), headers, lastID, hear }, stopping.signal);
    } catch (error) {
      onBug(error);
      return { reason: 'bug', lastID, retryMs: 0 };
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const end = await follow();
      if (!stopping.signal.aborted) await rest(lose(end));
    }
  };
  void run();

  return {
    async untilOpen(signal) {
      if (stopping.signal.aborted) throw STOPPED;
      if (state === 'open') return;
      hurry();
      const deadline = createDeadline(clock, OPENED_LIMIT_MS, signal);
      try {
        await untilAborted(opening.promise, deadline.signal);
      } catch (error) {
        if (signal.aborted || error === STOPPED) throw error;
        const why = lostFor === '' ? '' : ` (${lostFor})`;
        throw new Fault({ kind: 'backend-error', reason: `the agent server tells no events${why}` });
      } finally {
        deadline.clear();
      }
    },
    isOpen: () => state === 'open' && !stopping.signal.aborted,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop() {
      listeners.clear();
      skipped.stop();
      stopping.abort();
      endRest();
      opening.promise.catch(() => {});
      opening.reject(STOPPED);
    },
  };
};
