import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Credentials } from '../../core/http/auth.ts';
import {
  type HttpClient,
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
  isNeverConnected,
  type OpenHttpStream,
} from '../../core/http/client.ts';
import type { Log } from '../../core/log.ts';
import { retryAfterMs } from '../../core/retry.ts';
import { isTooSlow } from './errors.ts';
import { type Attempt, createServerRota, type Errand, type ServerCount } from './load-balancer.ts';

/** Where the agent is, as whom it is asked, and in which of its directories; its own one if there is none. */
export type AgentPlace = {
  readonly baseUrl: string;
  readonly credentials?: Credentials | undefined;
  readonly directory?: string | undefined;
};

export type Query = Readonly<Record<string, string>>;

export type AgentAddress = {
  readonly headers: Readonly<Record<string, string>>;
  readonly urlOf: (path: string, query?: Query) => string;
};

const basicOf = ({ username, password }: Credentials): string => {
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
};

/** What every request to the agent has in common. The directory is a query parameter, which all of its routes understand. */
export const agentAddress = ({ baseUrl, credentials, directory }: AgentPlace): AgentAddress => {
  const base = baseUrl.replace(/\/+$/, '');
  const place: Query = directory === undefined ? {} : { directory };
  return {
    headers: credentials === undefined ? {} : { authorization: basicOf(credentials) },
    urlOf(path, query = {}) {
      const wanted = new URLSearchParams({ ...query, ...place }).toString();
      return `${base}${path}${wanted === '' ? '' : `?${wanted}`}`;
    },
  };
};

/** An exchange that may reach one of several servers, and another one if that does no harm. */
export type AgentExchange = (
  sent: HttpRequest & {
    /** It begins a turn. */
    readonly isPrompt: boolean;
    /** It may have been done already, and is then no different. */
    readonly isRepeatable: boolean;
  },
) => Promise<HttpResponse>;

/** What is known of several servers that a request may go to. */
export type AgentServers = {
  readonly count: () => ServerCount;
  /** Asks each of them how it is. Never rejects, and does nothing while it is still at it. */
  readonly look: () => Promise<void>;
};

/** How the agent is reached. */
export type AgentReach = AgentPlace & {
  readonly httpClient: AgentExchange;
  readonly stream: OpenHttpStream;
  /** Nothing where there is only one. */
  readonly servers: AgentServers | undefined;
};

export type ReachNeeds = {
  /** Of servers on one store: what one was told, every other one knows. */
  readonly baseUrls: readonly string[];
  readonly credentials: Credentials | undefined;
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly log: Log;
};

type Head = Pick<HttpResponse, 'status' | 'header'>;
type Passage = { readonly errand: Errand; readonly isRepeatable: boolean };
/** Asks the server at an address. */
type Ask<Answer> = (baseUrl: string) => Promise<Answer>;

const LOOK_LIMIT_MS = 3000;
const LOOK_LIMIT_BYTES = 8 * 1024 * 1024;

/** A server that is starting, stopping or without its store has done nothing of what it was asked for. */
const isTurnedAway = ({ status, header }: Head): boolean => status === 503 && header('retry-after') !== null;

/** Whether another server may be asked the same: nothing was sent, or twice is no different. A long answer is one everywhere. */
const mayPassOn = (error: unknown, { isRepeatable }: Passage): boolean =>
  error instanceof HttpClientError &&
  (isNeverConnected(error.code) || (isRepeatable && error.code !== 'ANSWER_TOO_LARGE'));

/** Why a failure is held against the server. One that broke off may have ended an old connection, and no more. */
const reproachIn = (error: unknown): string | undefined => {
  if (isTooSlow(error)) return 'no answer in time';
  return error instanceof HttpClientError && isNeverConnected(error.code) ? error.code : undefined;
};

/** The ways to several servers as one: paths instead of addresses go in. */
const spread = ({ baseUrls, credentials, httpClient, stream, clock, log }: ReachNeeds): AgentReach => {
  const rota = createServerRota({ all: baseUrls.length, clock, log });
  const { headers, urlOf } = agentAddress({ baseUrl: '', credentials });
  let looking: Promise<void> | undefined;

  const askAt = async <Answer extends Head>(attempt: Attempt, ask: Ask<Answer>): Promise<Answer> => {
    try {
      const answer = await ask(baseUrls[attempt.place] ?? '');
      if (isTurnedAway(answer)) {
        const askedMs = retryAfterMs(answer.header('retry-after'), clock.now()) ?? 0;
        rota.failed(attempt, { reason: `status ${answer.status}`, askedMs });
      } else rota.answered(attempt);
      return answer;
    } catch (error) {
      const reason = reproachIn(error);
      if (reason !== undefined) rota.failed(attempt, { reason });
      throw error;
    }
  };
  const across = async <Answer extends Head>(passage: Passage, ask: Ask<Answer>): Promise<Answer> => {
    const tried = new Set<number>();
    let refusal: Answer | undefined;
    let failure: unknown;
    for (;;) {
      const attempt = rota.begin(passage.errand, tried);
      if (attempt === undefined) break;
      tried.add(attempt.place);
      try {
        const answer = await askAt(attempt, ask);
        if (!isTurnedAway(answer)) return answer;
        refusal = answer;
      } catch (error) {
        if (!mayPassOn(error, passage)) throw error;
        failure = error;
      }
    }
    // One that says when to come back tells more than one that is not there.
    if (refusal !== undefined) return refusal;
    throw failure;
  };
  const lookAt = async (place: number): Promise<void> => {
    const deadline = createDeadline(clock, LOOK_LIMIT_MS);
    const { signal } = deadline;
    const sent = { method: 'GET', headers, signal, limitBytes: LOOK_LIMIT_BYTES } as const;
    const ask: Ask<HttpResponse> = (baseUrl) => httpClient({ ...sent, url: `${baseUrl}${urlOf('/session/status')}` });
    // What comes of it is noted already.
    await askAt(rota.beginAt(place), ask).catch(() => {});
    deadline.clear();
  };

  return {
    baseUrl: '',
    credentials,
    httpClient({ isPrompt, isRepeatable, ...sent }) {
      const errand = isPrompt ? 'prompt' : 'call';
      return across({ errand, isRepeatable }, (baseUrl) => httpClient({ ...sent, url: `${baseUrl}${sent.url}` }));
    },
    stream({ url, headers: named, signal }) {
      return across({ errand: 'feed', isRepeatable: true }, async (baseUrl) => {
        const leaving = new AbortController();
        const both = AbortSignal.any([signal, leaving.signal]);
        const opened = await stream({ url: `${baseUrl}${url}`, headers: named, signal: both });
        // Nobody reads what another server is asked instead of.
        if (isTurnedAway(opened)) leaving.abort();
        return opened;
      });
    },
    servers: {
      count: rota.count,
      look() {
        looking ??= Promise.all(baseUrls.map((_, place) => lookAt(place))).then(() => {
          looking = undefined;
        });
        return looking;
      },
    },
  };
};

/** How the agent is reached: over the ways that are given if it has one address, else over any server that is well. */
export const reachAgents = (needs: ReachNeeds): AgentReach => {
  const { baseUrls, credentials, httpClient, stream } = needs;
  const [only = '', ...others] = baseUrls;
  if (others.length > 0) return spread(needs);
  return { baseUrl: only, credentials, httpClient, stream, servers: undefined };
};
