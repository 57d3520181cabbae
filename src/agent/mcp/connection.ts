import { pause, pauseUntil, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import type { McpCall, McpConnection, McpTransport } from './client.ts';
import { callWords, McpServerError, UNSENT } from './errors.ts';
import type { Listing } from './tool-list.ts';

const FIRST_DELAY_MS = 1000;
const JITTER = 0.25;

export const LONGEST_RECONNECT_MS = 60_000;

/**
 * How long to leave a tool server alone after so many failures in a row, counted from 1, in whole milliseconds. `chance` is
 * 0 to 1, and shortens.
 */
export const reconnectDelayMs = (failures: number, chance: number): number =>
  Math.round(Math.min(LONGEST_RECONNECT_MS, FIRST_DELAY_MS * 2 ** (failures - 1)) * (1 - JITTER * chance));

export type RelistingNeeds = {
  readonly clock: Clock;
  readonly take: (listing: Listing) => void;
  readonly onFailed: (reason: string) => void;
};

/** A server that says all the time that its tools have changed is asked no more often than this. */
const LEAST_INTERVAL_MS = 1000;

/** Lists a connection's tools again whenever it is told to, one list at a time, until the signal aborts. */
export const createRelisting = ({ clock, take, onFailed }: RelistingNeeds, signal: AbortSignal) => {
  let isBusy = false;
  let isWanted = false;
  const listWhileWanted = async (connection: Pick<McpConnection, 'list'>): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      const listing = await connection.list(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        onFailed(error instanceof McpServerError ? error.message : 'The tools could not be listed');
      });
      if (listing !== undefined) take(listing);
      await pause(clock, LEAST_INTERVAL_MS, signal);
    }
  };
  return (connection: Pick<McpConnection, 'list'>): void => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    listWhileWanted(connection)
      // Only ever because the connection is over.
      .catch(() => {})
      .finally(() => {
        isBusy = false;
      });
  };
};

/** How a tool server fares, as the wire has it. The error is our own words. */
export type McpStatus =
  | { readonly status: 'connected' }
  | { readonly status: 'disabled' }
  | { readonly status: 'needs_auth' }
  | { readonly status: 'failed'; readonly error: string };

export type McpNews =
  | { readonly kind: 'connected' }
  /**
   * An attempt failed or a connection ended; the next attempt is made after `restMs`. `lastWords` are what a program wrote
   * that failed before it was ever connected: later it may write anything.
   */
  | { readonly kind: 'lost'; readonly reason: string; readonly restMs: number; readonly lastWords: string | undefined }
  /** The tools are others than before. Not told of the first list. */
  | { readonly kind: 'tools-changed' }
  | { readonly kind: 'list-failed'; readonly reason: string };

export type McpLifeNeeds = {
  readonly open: () => Promise<McpTransport>;
  readonly clock: Clock;
  readonly chance: () => number;
  readonly timeoutMs: number;
  readonly version: string;
  /** Tools are in place before the news of them is told. */
  readonly tell: (news: McpNews) => void;
};

/** One server, kept connected from the beginning until the end of its life. */
export type McpLife = {
  readonly status: () => McpStatus;
  readonly connection: () => McpConnection | undefined;
  /** The tools as they were listed last, also while the server is away. */
  readonly listing: () => Listing;
  /** Settles when the first attempt is over, however it went. */
  readonly first: Promise<void>;
  /** Makes the next attempt now. Settles when the attempt that is under way, or that one, is over. */
  readonly hurry: () => Promise<void>;
  /** Settles when nothing of the connection is left. */
  readonly end: () => Promise<void>;
};

const GOOD_MS = 60_000;
const NOTHING: Listing = { tools: [], skipped: [] };

const problemOf = (error: unknown): McpServerError =>
  error instanceof McpServerError ? error : new McpServerError('unreachable', 'The connection could not be made');

/** Begins as soon as `after` is settled: the server's former life may still be ending. */
export const beginLife = (needs: McpLifeNeeds, after: Promise<unknown>): McpLife => {
  const { open, clock, chance, timeoutMs, version, tell } = needs;
  const controller = new AbortController();
  const { signal } = controller;
  let status: McpStatus = { status: 'failed', error: 'Not connected yet' };
  let connection: McpConnection | undefined;
  let listing: Listing | undefined;
  let attempt = Promise.withResolvers<void>();
  let wake = (): void => {};
  const first = attempt.promise;

  const take = (next: Listing): void => {
    const isChange = listing !== undefined && JSON.stringify(next.tools) !== JSON.stringify(listing.tools);
    listing = next;
    if (isChange) tell({ kind: 'tools-changed' });
  };
  /** Whoever waits for this attempt goes on; whoever comes now waits for the next. */
  const attempted = (): void => {
    const { resolve } = attempt;
    attempt = Promise.withResolvers<void>();
    resolve();
  };
  /** One connection from its beginning to its end. Always rejects. */
  const stay = async (transport: McpTransport, onConnected: () => void): Promise<never> => {
    const over = new AbortController();
    const leave = () => over.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    const onFailed = (reason: string) => tell({ kind: 'list-failed', reason });
    const relist = createRelisting({ clock, take, onFailed }, over.signal);
    let isStale = false;
    const onToolsChanged = (): void => {
      if (connection === undefined) isStale = true;
      else relist(connection);
    };
    try {
      // The SDK takes its time to load, and many servers have no tool servers.
      const { connectMcp } = await import('./client.ts');
      const opened = await connectMcp({ transport, clock, timeoutMs, version, onToolsChanged }, signal);
      const listed = await opened.list(signal);
      connection = opened;
      status = { status: 'connected' };
      take(listed);
      onConnected();
      if (isStale) relist(opened);
      throw await untilAborted(opened.closed, signal);
    } finally {
      connection = undefined;
      over.abort();
      signal.removeEventListener('abort', leave);
    }
  };
  const lose = (problem: McpServerError, restMs: number, wasConnected: boolean): void => {
    const { kind, message: reason } = problem;
    const lastWords = wasConnected ? undefined : problem.lastWords;
    const error = lastWords === undefined ? reason : `${reason}; see the log`;
    status = kind === 'needs-auth' ? { status: 'needs_auth' } : { status: 'failed', error };
    tell({ kind: 'lost', reason, restMs, lastWords });
  };
  /** One attempt, and the rest after it. Rejects when life is over. */
  const tryOnce = async (failuresBefore: number): Promise<number> => {
    let transport: McpTransport | undefined;
    let connectedAt: number | undefined;
    const woken = Promise.withResolvers<void>();
    try {
      transport = await open();
      return await stay(transport, () => {
        connectedAt = clock.now();
        tell({ kind: 'connected' });
        attempted();
      });
    } catch (error) {
      signal.throwIfAborted();
      const isGood = connectedAt !== undefined && clock.now() - connectedAt >= GOOD_MS;
      const failures = isGood ? 1 : failuresBefore + 1;
      const problem = problemOf(error);
      const restMs = problem.kind === 'needs-auth' ? LONGEST_RECONNECT_MS : reconnectDelayMs(failures, chance());
      wake = woken.resolve;
      lose(problem, restMs, connectedAt !== undefined);
      if (connectedAt === undefined) attempted();
      await transport?.close();
      await pauseUntil(clock, { ms: restMs, woken: woken.promise }, signal);
      return failures;
    } finally {
      wake = () => {};
      await transport?.close();
    }
  };
  const run = async (): Promise<void> => {
    await after;
    for (let failures = 0; !signal.aborted; ) failures = await tryOnce(failures);
  };
  const done = run()
    // It only ever rejects because its life is over.
    .catch(() => {})
    .finally(attempted);
  return {
    status: () => status,
    connection: () => connection,
    listing: () => listing ?? NOTHING,
    first,
    hurry() {
      if (connection !== undefined) return Promise.resolve();
      const { promise } = attempt;
      wake();
      return promise;
    },
    end() {
      controller.abort();
      return done;
    },
  };
};

/** One configured server, which can be switched on and off. */
export type McpLink = {
  readonly status: () => McpStatus;
  readonly listing: () => Listing;
  readonly instructions: () => string | undefined;
  /** Switches it on when it is off. */
  readonly on: () => McpLife;
  /** Settles when nothing of it is left. */
  readonly off: () => Promise<void>;
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly call: (call: McpCall, signal: AbortSignal) => Promise<ToolOutcome>;
};

const outcome = (output: string, isError: boolean): ToolOutcome => ({ output, title: '', metadata: {}, isError });

export const createMcpLink = (needs: McpLifeNeeds): McpLink => {
  let life: McpLife | undefined;
  let ending: Promise<void> = Promise.resolve();
  return {
    status: () => life?.status() ?? { status: 'disabled' },
    listing: () => life?.listing() ?? NOTHING,
    instructions: () => life?.connection()?.instructions,
    on() {
      life ??= beginLife(needs, ending);
      return life;
    },
    off() {
      if (life !== undefined) ending = life.end();
      life = undefined;
      return ending;
    },
    async call(call, signal) {
      signal.throwIfAborted();
      const connection = life?.connection();
      if (connection === undefined) return outcome(life === undefined ? UNSENT.off : UNSENT.away, true);
      try {
        const { text, isError } = await connection.call(call, signal);
        return outcome(text, isError);
      } catch (error) {
        if (error instanceof McpServerError) return outcome(callWords(error), true);
        throw error;
      }
    },
  };
};
