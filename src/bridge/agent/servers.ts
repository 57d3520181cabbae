import { createDeadline } from '../../core/async.ts';
import { basicAuthorization, type Credentials } from '../../core/http/auth.ts';
import {
  type HttpClient,
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
  isNeverConnected,
  type OpenHttpStream,
} from '../../core/http/client.ts';
import { retryAfterMs } from '../../core/retry.ts';
import type { Runtime } from '../../core/runtime.ts';
import { isTooSlow } from './errors.ts';
import { createLoadBalancer, type RequestKind, type ServerCount, type ServerRequest } from './load-balancer.ts';

/** Where the agent server is, and as whom it is called. */
type AgentLocation = { readonly baseUrl: string; readonly credentials: Credentials | undefined };

export type QueryParameters = Readonly<Record<string, string>>;

type AgentUrls = {
  readonly headers: Readonly<Record<string, string>>;
  readonly urlOf: (path: string, query?: QueryParameters) => string;
};

/** What every request to the agent has in common. */
export const createAgentUrls = ({ baseUrl, credentials }: AgentLocation): AgentUrls => {
  const base = baseUrl.replace(/\/+$/, '');
  return {
    headers: credentials === undefined ? {} : { authorization: basicAuthorization(credentials) },
    urlOf(path, query = {}) {
      const parameters = new URLSearchParams(query).toString();
      return `${base}${path}${parameters === '' ? '' : `?${parameters}`}`;
    },
  };
};

/** An HTTP client that may choose one of several servers, and try another one if that does no harm. */
type AgentHttpClient = (
  request: HttpRequest & {
    /** It starts a turn. */
    readonly isPrompt: boolean;
    /** To do it twice makes no difference. */
    readonly isRepeatable: boolean;
  },
) => Promise<HttpResponse>;

/** The health of several servers. */
export type AgentServers = {
  readonly count: () => ServerCount;
  /** Calls each server once. Never rejects, and does nothing while an earlier probe is under way. */
  readonly probe: () => Promise<void>;
};

/** How the agent is called, over one server or several. */
export type AgentTransport = AgentLocation & {
  readonly httpClient: AgentHttpClient;
  readonly stream: OpenHttpStream;
  /** Undefined where there is only one server. */
  readonly servers: AgentServers | undefined;
};

export type AgentTransportOptions = {
  /** Of servers on one store: what one was sent, every other one knows. */
  readonly baseUrls: readonly string[];
  readonly credentials: Credentials | undefined;
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
} & Pick<Runtime, 'clock' | 'log'>;

type ResponseHead = Pick<HttpResponse, 'status' | 'header'>;
type RequestTraits = { readonly kind: RequestKind; readonly isRepeatable: boolean };
type SendTo<Answer> = (baseUrl: string) => Promise<Answer>;

const PROBE_LIMIT_MS = 3000;
const PROBE_LIMIT_BYTES = 8 * 1024 * 1024;

/** A server that is starting, stopping or without its store has done nothing with the request. */
const isUnavailable = ({ status, header }: ResponseHead): boolean => status === 503 && header('retry-after') !== null;

/**
 * Whether another server may get the same request: nothing was sent, or twice makes no difference. An answer that is too large
 * is too large everywhere.
 */
const canTryNextServer = (error: unknown, { isRepeatable }: RequestTraits): boolean =>
  error instanceof HttpClientError &&
  (isNeverConnected(error.code) || (isRepeatable && error.code !== 'ANSWER_TOO_LARGE'));

/** Why a failure counts against the server's health. A broken connection does not: it may just have been an old one. */
const serverFailureReason = (error: unknown): string | undefined => {
  if (isTooSlow(error)) return 'no answer in time';
  return error instanceof HttpClientError && isNeverConnected(error.code) ? error.code : undefined;
};

/** Several servers as one. Requests to it name a path instead of a URL. */
const balanceServers = (options: AgentTransportOptions): AgentTransport => {
  const { baseUrls, credentials, httpClient, stream, clock } = options;
  const balancer = createLoadBalancer(baseUrls.length, options);
  const { headers, urlOf } = createAgentUrls({ baseUrl: '', credentials });
  let probing: Promise<void> | undefined;

  const sendOnce = async <Answer extends ResponseHead>(
    request: ServerRequest,
    send: SendTo<Answer>,
  ): Promise<Answer> => {
    try {
      const answer = await send(baseUrls[request.index] ?? '');
      if (isUnavailable(answer)) {
        const waitMs = retryAfterMs(answer.header('retry-after'), clock.now()) ?? 0;
        balancer.recordFailure(request, `status ${answer.status}`, waitMs);
      } else balancer.recordSuccess(request);
      return answer;
    } catch (error) {
      const reason = serverFailureReason(error);
      if (reason !== undefined) balancer.recordFailure(request, reason);
      throw error;
    }
  };
  const sendToAny = async <Answer extends ResponseHead>(
    traits: RequestTraits,
    send: SendTo<Answer>,
  ): Promise<Answer> => {
    const tried = new Set<number>();
    let unavailable: Answer | undefined;
    let failure: unknown;
    for (;;) {
      const request = balancer.startNext(traits.kind, tried);
      if (request === undefined) break;
      tried.add(request.index);
      try {
        const answer = await sendOnce(request, send);
        if (!isUnavailable(answer)) return answer;
        unavailable = answer;
      } catch (error) {
        if (!canTryNextServer(error, traits)) throw error;
        failure = error;
      }
    }
    // An answer that says when to come back is worth more than the error of a server that is not there.
    if (unavailable !== undefined) return unavailable;
    throw failure;
  };
  const probeServer = async (index: number): Promise<void> => {
    const deadline = createDeadline(clock, PROBE_LIMIT_MS);
    const request = { method: 'GET', headers, signal: deadline.signal, limitBytes: PROBE_LIMIT_BYTES } as const;
    const send: SendTo<HttpResponse> = (baseUrl) =>
      httpClient({ ...request, url: `${baseUrl}${urlOf('/session/status')}` });
    // The balancer has recorded the outcome already.
    await sendOnce(balancer.startAt(index), send).catch(() => {});
    deadline.clear();
  };

  return {
    baseUrl: '',
    credentials,
    httpClient({ isPrompt, isRepeatable, ...request }) {
      const kind = isPrompt ? 'prompt' : 'call';
      return sendToAny({ kind, isRepeatable }, (baseUrl) =>
        httpClient({ ...request, isRepeatable, url: `${baseUrl}${request.url}` }),
      );
    },
    stream({ url, headers: sent, body, signal }) {
      // One with a body begins a turn. It has a key, so it may come twice.
      const kind = body === undefined ? 'events' : 'prompt';
      return sendToAny({ kind, isRepeatable: true }, async (baseUrl) => {
        const controller = new AbortController();
        const either = AbortSignal.any([signal, controller.signal]);
        const more = body === undefined ? {} : { body };
        const opened = await stream({ url: `${baseUrl}${url}`, headers: sent, ...more, signal: either });
        // Another server is called instead, so this stream has no reader.
        if (isUnavailable(opened)) controller.abort();
        return opened;
      });
    },
    servers: {
      count: balancer.count,
      probe() {
        probing ??= Promise.all(baseUrls.map((_, index) => probeServer(index))).then(() => {
          probing = undefined;
        });
        return probing;
      },
    },
  };
};

/** How the agent is called: directly if it has one address, else over any server that is healthy. */
export const createAgentTransport = (options: AgentTransportOptions): AgentTransport => {
  const { baseUrls, credentials, httpClient, stream } = options;
  const [only = '', ...others] = baseUrls;
  if (others.length > 0) return balanceServers(options);
  return { baseUrl: only, credentials, httpClient, stream, servers: undefined };
};
