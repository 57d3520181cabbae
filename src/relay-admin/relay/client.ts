import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { type HttpClient, HttpClientError, type HttpRequest, type HttpResponse } from '../../core/http/client.ts';
import { retryAfterMs } from '../../core/retry.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { RelayError } from '../errors/errors.ts';
import type { AdminKey, RelayAddress } from '../settings.ts';
import { isJsonText, parseEnvelope, toWriteAnswer, toWriteFailure, type WriteAnswer } from './response.ts';

/** Waits for a slot of the semaphore; the returned function releases it. Throws `busy` when too many wait. */
export const acquireSlot = (gate: Semaphore, signal: AbortSignal): Promise<() => void> =>
  gate.acquire(signal).catch((error: unknown) => {
    throw error instanceof Fault && error.detail.kind === 'overloaded' ? new RelayError({ kind: 'busy' }) : error;
  });

/** Query parameters of a read, in the order they are sent. */
export type RelayQuery = Readonly<Record<string, string | number | boolean>>;

/** One of the three changes that are ever sent. */
export type Write = {
  readonly method: 'POST' | 'PUT';
  /** Below the admin prefix, from a fixed template: `users/7/balance`. */
  readonly path: string;
  /** JSON as text: amounts keep the digits that were confirmed. */
  readonly body: string;
  readonly idempotencyKey?: string;
};

/** How a read is sent. */
type ReadMode = {
  /** Below `/api/v1/` and without the key, instead of below the admin prefix. */
  readonly isPublic?: boolean;
  /** Whether a transient failure is tried a second time. */
  readonly isRetried?: boolean;
};

/** The HTTP client for the relay. Every request of this process goes through it. */
export type RelayClient = {
  readonly address: RelayAddress;
  /** Reads a path such as `users/7` and returns the payload. Throws a `RelayError`. Retries once after a transient failure. */
  readonly get: (path: string, query: RelayQuery, signal: AbortSignal, mode?: ReadMode) => Promise<unknown>;
  /** Sends a change once. Never rejects once it may have been sent: an unclear outcome is `unknown`. */
  readonly send: (write: Write, signal: AbortSignal) => Promise<WriteAnswer>;
  /** `GET /health` without the key, as it was received. Rejects like an `HttpClient`. */
  readonly health: (signal: AbortSignal) => Promise<HttpResponse>;
};

type RelayClientNeeds = {
  readonly address: RelayAddress;
  readonly key: AdminKey;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
  /** Bounds concurrent reads, and so the memory that answers take. */
  readonly gate: Semaphore;
  readonly version: string;
};

const PUBLIC_PREFIX = 'api/v1/';
const ADMIN_PREFIX = `${PUBLIC_PREFIX}admin/`;
/** The largest answer that is accepted from the relay. */
export const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024;
const HEALTH_LIMIT_BYTES = 64 * 1024;
/** The longest pause before the second try of a read. When the relay asks for more, the caller gets the error instead. */
const LONGEST_PAUSE_MS = 3000;
const DEFAULT_PAUSE_MS = 300;
/** How long callers should wait when the relay does not say. */
const DEFAULT_WAIT_MS = 10_000;

const SEGMENTS = /^[a-z0-9_-]+(?:\/[a-z0-9_-]+)*$/;

/** The URL of a path. Anything but plain segments is a bug and is not sent. */
const toUrl = (origin: string, path: string, query: RelayQuery = {}): string => {
  if (!SEGMENTS.test(path)) throw new Error('A path that is no template');
  const url = new URL(`${origin}/${path}`);
  if (url.origin !== origin || url.pathname !== `/${path}`) throw new Error('A path that leads elsewhere');
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, String(value));
  return url.href;
};

const adminSecret = (key: AdminKey): string => {
  if (key.kind !== 'present') throw new RelayError({ kind: 'no-admin-key', isMalformed: key.kind === 'malformed' });
  return key.secret;
};

/** The payload of the answer to a read. Throws a `RelayError` for any other answer. */
const parsePayload = ({ status, text, header }: HttpResponse, now: number): unknown => {
  if (status >= 300 && status < 400 && status !== 304) throw new RelayError({ kind: 'upstream-redirect' });
  if (status === 401) throw new RelayError({ kind: 'upstream-auth' });
  if (status === 403) throw new RelayError({ kind: 'upstream-forbidden' });
  if (status === 404) throw new RelayError({ kind: 'not-found', what: 'resource' });
  if (status === 423) throw new RelayError({ kind: 'terms-not-accepted' });
  const waitMs = retryAfterMs(header('retry-after'), now);
  if (status === 429) throw new RelayError({ kind: 'upstream-rate-limit', retryAfterMs: waitMs ?? DEFAULT_WAIT_MS });
  if (status >= 500) {
    const asked = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    throw new RelayError({ kind: 'upstream-unavailable', why: `status ${status}`, ...asked });
  }
  if (status >= 400) throw new RelayError({ kind: 'upstream-refused', status });
  const envelope = status === 200 ? parseEnvelope(text) : undefined;
  if (envelope !== undefined) return envelope.data;
  throw new RelayError({ kind: 'upstream-contract', why: isJsonText(text) ? 'unexpected-shape' : 'not-json' });
};

const toRelayError = (error: unknown): unknown => {
  if (!(error instanceof HttpClientError)) return error;
  return error.code === 'ANSWER_TOO_LARGE'
    ? new RelayError({ kind: 'upstream-contract', why: 'too-large' })
    : new RelayError({ kind: 'upstream-unavailable', why: error.code });
};

/** The pause before a second try of a read; `undefined` when a second try would not help. */
const retryPauseMs = (error: unknown): number | undefined => {
  if (!(error instanceof RelayError)) return undefined;
  const { detail } = error;
  if (detail.kind !== 'upstream-unavailable' && detail.kind !== 'upstream-rate-limit') return undefined;
  const { retryAfterMs: asked = DEFAULT_PAUSE_MS } = detail;
  return asked <= LONGEST_PAUSE_MS ? asked : undefined;
};

/** Creates the client: one origin, fixed paths, no redirects, answers of limited size, the admin key in one header. */
export const createRelayClient = ({
  address,
  key,
  httpClient,
  clock,
  gate,
  version,
}: RelayClientNeeds): RelayClient => {
  const agent = { 'user-agent': `gatehouse-relay-admin/${version}`, accept: 'application/json' };
  const gated = async (sent: HttpRequest): Promise<HttpResponse> => {
    const release = await acquireSlot(gate, sent.signal);
    try {
      return await httpClient(sent);
    } finally {
      release();
    }
  };
  const readOnce = async (
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<unknown> => {
    try {
      return parsePayload(
        await gated({ method: 'GET', url, headers, signal, limitBytes: ANSWER_LIMIT_BYTES }),
        clock.now(),
      );
    } catch (error) {
      throw toRelayError(error);
    }
  };
  return {
    address,
    async get(path, query, signal, { isPublic = false, isRetried = true } = {}) {
      const url = toUrl(address.origin, `${isPublic ? PUBLIC_PREFIX : ADMIN_PREFIX}${path}`, query);
      const headers = isPublic ? agent : { ...agent, 'x-api-key': adminSecret(key) };
      try {
        return await readOnce(url, headers, signal);
      } catch (error) {
        const pauseMs = isRetried ? retryPauseMs(error) : undefined;
        if (pauseMs === undefined) throw error;
        await pause(clock, pauseMs, signal);
        return readOnce(url, headers, signal);
      }
    },
    async send({ method, path, body, idempotencyKey }, signal) {
      const url = toUrl(address.origin, `${ADMIN_PREFIX}${path}`);
      const headers = {
        ...agent,
        'x-api-key': adminSecret(key),
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      };
      try {
        return toWriteAnswer(await httpClient({ method, url, headers, body, signal, limitBytes: ANSWER_LIMIT_BYTES }));
      } catch (error) {
        return toWriteFailure(error);
      }
    },
    health: (signal) =>
      gated({
        method: 'GET',
        url: toUrl(address.origin, 'health'),
        headers: agent,
        signal,
        limitBytes: HEALTH_LIMIT_BYTES,
      }),
  };
};
