import { type AgentTransport, createAgentTransport } from '../../../src/bridge/agent/servers.ts';
import { untilAborted } from '../../../src/core/async.ts';
import {
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
  type OpenHttpStream,
} from '../../../src/core/http/client.ts';
import { createLog } from '../../../src/core/log.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';

/** What a server does with a request: a status, or a code of what went wrong below HTTP. `silent` never answers, `slow` after a minute. */
type Manner = number | string;

export type Ways = {
  readonly reach: AgentTransport;
  readonly clock: FakeClock;
  /** What each server does from now on, by its place. */
  readonly manners: Manner[];
  /** Places of those that were asked, in order, with what they were asked. */
  readonly asked: {
    readonly place: number;
    readonly path: string;
    readonly sent: Pick<HttpRequest, 'headers' | 'signal'>;
  }[];
  /** Of the log, without time. */
  readonly reported: string[];
  /** A call to the agent, and the places that were asked meanwhile. */
  readonly call: (kind?: Kind, signal?: AbortSignal) => Promise<{ readonly result: string; readonly places: string }>;
  /** Opens the event stream, and tells where. */
  readonly open: (signal?: AbortSignal) => Promise<string>;
  readonly retryAfter: { value: string | null };
};

export type Kind = 'get' | 'post' | 'prompt';

const never = new AbortController().signal;
const codeOf = (error: unknown): string => (error instanceof HttpClientError ? error.code : String(error));

/** Several servers that do as they are told, and the ways to them. */
export const waysTo = (...given: readonly Manner[]): Ways => {
  const clock = createFakeClock();
  const manners = [...given];
  const asked: Ways['asked'] = [];
  const reported: string[] = [];
  const retryAfter: Ways['retryAfter'] = { value: '1' };
  const baseUrls = manners.map((_, place) => `http://agent-${place}.test/base`);
  const meet = async (sent: Pick<HttpRequest, 'url' | 'headers' | 'signal'>): Promise<HttpResponse> => {
    const { host, pathname } = new URL(sent.url);
    const place = Number(/\d+/.exec(host)?.[0]);
    asked.push({ place, path: pathname, sent });
    const manner = manners[place] ?? 'nobody';
    if (manner === 'silent') await untilAborted(new Promise<never>(() => {}), sent.signal);
    if (manner === 'slow') await new Promise<void>((resolve) => clock.after(60_000, resolve));
    else if (typeof manner === 'string') throw new HttpClientError(manner);
    const header = (name: string) => (name === 'retry-after' && manner === 503 ? retryAfter.value : null);
    return { status: manner === 'slow' ? 200 : manner, header, text: `answer of ${place}` };
  };
  const stream: OpenHttpStream = async (wanted) => {
    const { status, header, text } = await meet(wanted);
    return {
      status,
      header,
      chunks: (async function* () {
        yield new TextEncoder().encode(text);
      })(),
    };
  };
  const write = (line: string): void => {
    const { event, backend, reason, restMs } = JSON.parse(line);
    reported.push([event, backend, reason, restMs].filter((word) => word !== undefined).join(' '));
  };
  const log = createLog({ level: 'debug', service: 'bridge', clock, write });
  const credentials = { username: 'opencode', password: 'secret' };
  const reach = createAgentTransport({ baseUrls, credentials, httpClient: meet, stream, clock, log });
  const placesFrom = (first: number): string =>
    asked
      .slice(first)
      .map(({ place }) => place)
      .join(' ');
  return {
    reach,
    clock,
    manners,
    asked,
    reported,
    retryAfter,
    async call(kind = 'get', signal = never) {
      const first = asked.length;
      const method = kind === 'get' ? 'GET' : 'POST';
      const sent = { method, url: `${reach.baseUrl}/session`, headers: {}, signal, limitBytes: 1000 } as const;
      const result = await reach
        .httpClient({ ...sent, isPrompt: kind === 'prompt', isRepeatable: kind === 'get' })
        .then(({ status }) => String(status), codeOf);
      return { result, places: placesFrom(first) };
    },
    async open(signal = never) {
      const first = asked.length;
      const url = `${reach.baseUrl}/event`;
      const result = await reach
        .stream({ url, headers: { 'last-event-id': 'evt_7' }, signal })
        .then(({ status }) => String(status), codeOf);
      return `${result} by ${placesFrom(first)}`;
    },
  };
};
