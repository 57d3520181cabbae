import { createDeadline, pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import {
  type HttpClient,
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type OpenHttpStream,
} from '../../core/http/client.ts';
import { readEventConnection } from '../../core/http/event-connection.ts';
import type { SseItem } from '../../core/http/sse-parser.ts';
import { isRecord, parseJsonValue } from '../../core/json.ts';
import { redactedLine } from '../../core/text.ts';
import type { ConsoleFault } from '../errors.ts';
import type { ServicePart } from '../protocol.ts';

/** A call of a service, by the path below its address. */
export type ServiceCall = {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly limitBytes?: number;
  readonly limitMs?: number;
};

/** An answer with its JSON, whatever its status. `text` is what `value` was parsed from. */
export type ServiceAnswer = { readonly status: number; readonly value: unknown; readonly text: string };

/** One of the services behind the console, which is called with its key. */
export type ServiceClient = {
  readonly part: ServicePart;
  readonly address: string;
  /** Faults with `service-down` where no whole JSON answer comes in time and within the limit. */
  readonly call: (call: ServiceCall, signal: AbortSignal) => Promise<ServiceAnswer>;
  /** The same, and faults with `service-refused` for a status of failure. */
  readonly ask: (call: ServiceCall, signal: AbortSignal) => Promise<ServiceAnswer>;
  /** Opens an answer that goes on. A status of failure faults with `service-refused`. Two minutes of silence end it. */
  readonly open: (
    call: Pick<ServiceCall, 'path' | 'body'> & { readonly headers?: Readonly<Record<string, string>> },
    signal: AbortSignal,
  ) => Promise<HttpStream>;
  /**
   * Reads the events at a path until the signal aborts. A connection that ends is followed by another one, ever more slowly while
   * none opens; with `resumes` it begins where the last one ended. Never rejects.
   */
  readonly follow: (asked: FollowedEvents, signal: AbortSignal) => Promise<void>;
};

type FollowedEvents = { readonly path: string; readonly resumes: boolean; readonly onItem: (item: SseItem) => void };

/** The clients of the services that are set. */
export type ServiceClients = {
  readonly gateway: ServiceClient | undefined;
  readonly agents: readonly ServiceClient[];
  readonly bridge: ServiceClient | undefined;
};

type ServiceClientNeeds = {
  readonly part: ServicePart;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
};

const CALL_LIMIT_MS = 10_000;
/** A chat may wait for the one before it. */
const OPEN_LIMIT_MS = 60_000;
/** Of an open answer. A bridge sends a heartbeat every ten seconds; one that was told to send none may call a tool for a minute. */
const SILENCE_LIMIT_MS = 120_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const ERROR_LIMIT_BYTES = 65_536;
const MESSAGE_CHARS = 300;

const stringAt = (value: unknown, name: string): string | undefined => {
  const found = isRecord(value) ? value[name] : undefined;
  return typeof found === 'string' ? found : undefined;
};

/** The message of an error body: OpenAI's shape, or OpenCode's. */
const messageOf = (value: unknown): string => {
  const inner = isRecord(value) ? (value.error ?? value.data) : undefined;
  const text = stringAt(inner, 'message') ?? stringAt(value, 'message');
  return text === undefined || text === '' ? 'it gives no reason' : redactedLine(text, MESSAGE_CHARS);
};

const readAll = async ({ chunks }: HttpStream): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of chunks) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > ERROR_LIMIT_BYTES) break;
  }
  return text;
};

/** Chunks as they come. Calls `onSilent` when the next one takes too long; how long a caller needs for one does not count. */
async function* watchSilence(
  chunks: HttpStream['chunks'],
  clock: Clock,
  onSilent: () => void,
): AsyncGenerator<Uint8Array> {
  let cancel = clock.after(SILENCE_LIMIT_MS, onSilent);
  try {
    for await (const bytes of chunks) {
      cancel();
      yield bytes;
      cancel = clock.after(SILENCE_LIMIT_MS, onSilent);
    }
  } finally {
    cancel();
  }
}

export const createServiceClient = (needs: ServiceClientNeeds): ServiceClient => {
  const { part, address, headers, httpClient, stream, clock } = needs;
  const down = (reason: string) => new Fault<ConsoleFault>({ kind: 'service-down', part, reason });
  const refused = (status: number, value: unknown) =>
    new Fault<ConsoleFault>({ kind: 'service-refused', part, status, message: messageOf(value) });
  /** Our own deadline and a connection that broke are failures of the service; a client that left is not. */
  const failureOf = (error: unknown, signal: AbortSignal): unknown => {
    if (signal.aborted) return new Fault({ kind: 'client-left' });
    if (error instanceof HttpClientError) return down(error.code);
    return error instanceof Fault && error.detail.kind === 'backend-timeout' ? down('not in time') : error;
  };
  const headersFor = (body: unknown) =>
    body === undefined ? headers : { ...headers, 'content-type': 'application/json' };

  const call: ServiceClient['call'] = async (given, signal) => {
    const { method, path, body, limitBytes = ANSWER_LIMIT_BYTES, limitMs = CALL_LIMIT_MS } = given;
    const deadline = createDeadline(clock, limitMs, signal);
    let answer: HttpResponse;
    try {
      const sent = { method, url: `${address}${path}`, headers: { ...headersFor(body), accept: 'application/json' } };
      answer = await httpClient({
        ...sent,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: deadline.signal,
        limitBytes,
      });
    } catch (error) {
      throw failureOf(error, signal);
    } finally {
      deadline.clear();
    }
    const value = parseJsonValue(answer.text);
    if (value === undefined && answer.status < 400) throw down('its answer is no JSON');
    return { status: answer.status, value, text: answer.text };
  };
  return {
    part,
    address,
    call,
    async ask(given, signal) {
      const answer = await call(given, signal);
      if (answer.status < 200 || answer.status >= 300) throw refused(answer.status, answer.value);
      return answer;
    },
    async open({ path, body, headers: more }, signal) {
      const controller = new AbortController();
      const abort = (): void => controller.abort(new Fault({ kind: 'client-left' }));
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      const giveUp = (): void => controller.abort(new Fault({ kind: 'backend-timeout' }));
      const cancel = clock.after(OPEN_LIMIT_MS, giveUp);
      try {
        const answer = await stream({
          url: `${address}${path}`,
          headers: { ...headersFor(body), ...more },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: controller.signal,
        });
        if (answer.status >= 200 && answer.status < 300)
          return { ...answer, chunks: watchSilence(answer.chunks, clock, giveUp) };
        const text = await readAll(answer);
        controller.abort();
        throw refused(answer.status, parseJsonValue(text));
      } catch (error) {
        throw failureOf(error, signal);
      } finally {
        cancel();
      }
    },
    async follow({ path, resumes, onItem }, signal) {
      const url = `${address}${path}`;
      const take = (item: SseItem): 'open' => {
        if (!signal.aborted) onItem(item);
        return 'open';
      };
      let lastID = '';
      for (let failures = 0; !signal.aborted; failures++) {
        const asked = { stream, clock, url, headers, lastID, onItem: take, isOpenByBytes: true };
        const end = await readEventConnection(asked, signal).catch(() => ({ retryMs: 0, lastID, wasOpen: false }));
        if (resumes) lastID = end.lastID;
        if (end.wasOpen) failures = 0;
        const delayMs = Math.max(end.retryMs, FIRST_DELAY_MS * 2 ** failures);
        await pause(clock, Math.min(LONGEST_DELAY_MS, delayMs), signal).catch(() => {});
      }
    },
  };
};
