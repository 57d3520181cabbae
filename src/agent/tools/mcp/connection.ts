import { pauseUntil, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import type { McpConnection, McpTransport } from './client.ts';
import { McpServerError } from './errors.ts';
import { createRelister, EMPTY_LISTING, type Listing } from './tool-list.ts';

const FIRST_RECONNECT_MS = 1000;
const LONGEST_RECONNECT_MS = 60_000;
const JITTER = 0.25;
/** A connection that lasted so long starts the delays from the beginning. */
const STABLE_AFTER_MS = 60_000;

/**
 * The delay in whole milliseconds before the next attempt to connect, after so many failures in a row (1 or more).
 * `chance` is from 0 to 1, and shortens the delay.
 */
export const reconnectDelayMs = (failures: number, chance: number): number =>
  Math.round(Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** (failures - 1)) * (1 - JITTER * chance));

/** The state of a tool server, as `GET /mcp` shows it. The error is our own text. */
export type McpStatus =
  /** `lastError`: why the connection before this one was lost, or not made, and when, in milliseconds since the epoch. */
  | { readonly status: 'connected'; readonly lastError?: { readonly message: string; readonly at: number } }
  | { readonly status: 'disabled' }
  | { readonly status: 'needs_auth' }
  | { readonly status: 'failed'; readonly error: string };

export type McpEvent =
  | { readonly kind: 'connected' }
  /**
   * An attempt failed or a connection ended. The next attempt is made after `restMs`. `lastStderr` is the end of a
   * program's standard error if it was never connected: later the program may write anything there.
   */
  | { readonly kind: 'lost'; readonly reason: string; readonly restMs: number; readonly lastStderr: string | undefined }
  /** The list of tools has changed. Not sent for the first list. */
  | { readonly kind: 'tools-changed' }
  | { readonly kind: 'list-failed'; readonly reason: string };

export type ConnectionOptions = {
  /** Opens a transport for one attempt. */
  readonly open: () => Promise<McpTransport>;
  readonly clock: Clock;
  /** From 0 to 1, for spreading attempts. */
  readonly chance: () => number;
  readonly timeoutMs: number;
  readonly version: string;
  readonly root?: string | undefined;
  /** Called after the list of tools is updated. */
  readonly onEvent: (event: McpEvent) => void;
};

/** The connection state of one server, which is reconnected until `close`. */
export type KeptConnection = {
  readonly status: () => McpStatus;
  readonly connection: () => McpConnection | undefined;
  /** The tools as they were listed last, also while the server is not connected. */
  readonly listing: () => Listing;
  /** Settles when the first attempt has succeeded or failed. */
  readonly firstAttempt: Promise<void>;
  /** Makes the next attempt now. Settles when the running attempt, or that one, has succeeded or failed. */
  readonly reconnectNow: () => Promise<void>;
  /** Settles when the connection is closed. */
  readonly close: () => Promise<void>;
};

const toConnectError = (error: unknown): McpServerError =>
  error instanceof McpServerError ? error : new McpServerError('unreachable', 'The connection could not be made');

/** Connects to a server and reconnects when that ends. Begins once `after` settles: an earlier connection may be closing. */
export const keepConnected = (options: ConnectionOptions, after: Promise<unknown>): KeptConnection => {
  const { open, clock, chance, timeoutMs, version, root, onEvent } = options;
  const controller = new AbortController();
  const { signal } = controller;
  let status: McpStatus = { status: 'failed', error: 'Not connected yet' };
  let lastError: { readonly message: string; readonly at: number } | undefined;
  let connection: McpConnection | undefined;
  let listing: Listing | undefined;
  let attempt = Promise.withResolvers<void>();
  let wake = (): void => {};
  const firstAttempt = attempt.promise;

  const setListing = (next: Listing): void => {
    const isChange = listing !== undefined && JSON.stringify(next.tools) !== JSON.stringify(listing.tools);
    listing = next;
    if (isChange) onEvent({ kind: 'tools-changed' });
  };
  /** Settles the promise of this attempt, and begins that of the next one. */
  const endAttempt = (): void => {
    const { resolve } = attempt;
    attempt = Promise.withResolvers<void>();
    resolve();
  };
  /** One connection from its beginning to its end. Always rejects. */
  const runConnection = async (transport: McpTransport, onConnected: () => void): Promise<never> => {
    const over = new AbortController();
    const onAbort = () => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const onFailed = (reason: string) => onEvent({ kind: 'list-failed', reason });
    const relist = createRelister({ clock, onListing: setListing, onFailed }, over.signal);
    let isStale = false;
    const onToolsChanged = (): void => {
      if (connection === undefined) isStale = true;
      else relist(connection);
    };
    try {
      // The SDK is slow to load, and many servers have no tool servers.
      const { connectMcp } = await import('./client.ts');
      const opened = await connectMcp({ transport, clock, timeoutMs, version, root, onToolsChanged }, signal);
      const listed = await opened.list(signal);
      connection = opened;
      status = { status: 'connected', ...(lastError === undefined ? {} : { lastError }) };
      setListing(listed);
      onConnected();
      if (isStale) relist(opened);
      throw await untilAborted(opened.closed, signal);
    } finally {
      connection = undefined;
      over.abort();
      signal.removeEventListener('abort', onAbort);
    }
  };
  const recordLoss = (cause: McpServerError, restMs: number, wasConnected: boolean): void => {
    const { kind, message: reason } = cause;
    const lastStderr = wasConnected ? undefined : cause.lastStderr;
    const error = lastStderr === undefined ? reason : `${reason}; see the log`;
    lastError = { message: error, at: clock.now() };
    status = kind === 'needs-auth' ? { status: 'needs_auth' } : { status: 'failed', error };
    onEvent({ kind: 'lost', reason, restMs, lastStderr });
  };
  /** One attempt and the delay after it. Returns the failures in a row. Rejects after `close`. */
  const attemptOnce = async (failuresBefore: number): Promise<number> => {
    let transport: McpTransport | undefined;
    let connectedAt: number | undefined;
    const woken = Promise.withResolvers<void>();
    try {
      transport = await open();
      return await runConnection(transport, () => {
        connectedAt = clock.now();
        onEvent({ kind: 'connected' });
        endAttempt();
      });
    } catch (error) {
      signal.throwIfAborted();
      const wasStable = connectedAt !== undefined && clock.now() - connectedAt >= STABLE_AFTER_MS;
      const failures = wasStable ? 1 : failuresBefore + 1;
      const cause = toConnectError(error);
      const restMs = cause.kind === 'needs-auth' ? LONGEST_RECONNECT_MS : reconnectDelayMs(failures, chance());
      wake = woken.resolve;
      recordLoss(cause, restMs, connectedAt !== undefined);
      if (connectedAt === undefined) endAttempt();
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
    for (let failures = 0; !signal.aborted; ) failures = await attemptOnce(failures);
  };
  const done = run()
    // Rejects only because of `close`.
    .catch(() => {})
    .finally(endAttempt);
  return {
    status: () => status,
    connection: () => connection,
    listing: () => listing ?? EMPTY_LISTING,
    firstAttempt,
    reconnectNow() {
      if (connection !== undefined) return Promise.resolve();
      const { promise } = attempt;
      wake();
      return promise;
    },
    close() {
      controller.abort();
      return done;
    },
  };
};
