import { webDigest, webMac } from '../../../src/adapter/web-crypto.ts';
import { type HttpClient, HttpClientError, httpClientOverFetch } from '../../../src/core/http/client.ts';
import { createLog } from '../../../src/core/log.ts';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { createRelayAdmin, type RelayAdmin, type ToolAnswer } from '../../../src/relay-admin/app.ts';
import type { JournalFile } from '../../../src/relay-admin/recharge/journal.ts';
import { readRelayConfig } from '../../../src/relay-admin/settings.ts';
import type { ToolResult } from '../../../src/relay-admin/tool.ts';
import { createFaultyRelay, type RelayControl } from '../../demo/relay/control.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';

/** A journal file in memory, which any number of processes may open, each with a position of its own. */
type MemoryFile = { readonly lines: string[]; readonly open: () => JournalFile };

export const createMemoryFile = (): MemoryFile => {
  const lines: string[] = [];
  return {
    lines,
    open() {
      let read = 0;
      return {
        async append(line) {
          lines.push(line);
        },
        async readNew() {
          const added = lines.slice(read);
          read = lines.length;
          return added;
        },
      };
    },
  };
};

/** Ids that are as long as real ones, all different and in order. */
export const createIds = (): (() => string) => {
  let count = 0;
  return () => {
    count += 1;
    return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  };
};

/** The demo relay with its faults, and an HTTP client that calls it in this process. */
export const createRelayWithoutNetwork = (
  clock: FakeClock,
  newId: () => string,
): { readonly control: RelayControl; readonly direct: HttpClient } => {
  const dropped = new WeakSet<Request>();
  // A Request hears its caller's signal through a weak reference only: the collector would take one that is waited for.
  const running = new Set<Request>();
  const { handler, control } = createFaultyRelay({ clock, newId, drop: (request) => void dropped.add(request) });
  const direct = httpClientOverFetch(async (url, init) => {
    const request = new Request(url as string, init);
    running.add(request);
    const response = await handler(request).finally(() => running.delete(request));
    if (dropped.has(request)) throw new HttpClientError('ECONNRESET');
    init?.signal?.throwIfAborted();
    return response;
  });
  return { control, direct };
};

export type World = {
  readonly control: RelayControl;
  readonly clock: FakeClock;
  readonly file: MemoryFile;
  readonly logged: string[];
  /** A server process over the same relay and journal. What it sends can be bent on its way. */
  readonly start: (given?: StartGiven) => RelayAdmin;
};
export type StartGiven = {
  readonly variables?: Readonly<Record<string, string>>;
  readonly httpClient?: (direct: HttpClient) => HttpClient;
  readonly journalFile?: JournalFile;
};

const RELAY = 'http://relay.test:8080';

/** The demo relay without a network, on a clock that stands still. */
export const createWorld = (): World => {
  const clock = createFakeClock();
  const newId = createIds();
  const { control, direct } = createRelayWithoutNetwork(clock, newId);
  const file = createMemoryFile();
  const logged: string[] = [];
  return {
    control,
    clock,
    file,
    logged,
    start: ({ variables = {}, httpClient = (direct: HttpClient) => direct, journalFile = file.open() } = {}) =>
      createRelayAdmin({
        config: readRelayConfig({
          RELAY_BASE_URL: RELAY,
          RELAY_ALLOWED_HOST: 'relay.test',
          RELAY_ADMIN_API_KEY: DEMO_ADMIN_KEY,
          ...variables,
        }),
        httpClient: httpClient(direct),
        clock,
        journalFile,
        digest: webDigest,
        mac: webMac,
        newId,
        log: createLog({ level: 'debug', service: 'relay-admin', clock, write: (line) => void logged.push(line) }),
        version: '0.0.0-test',
      }),
  };
};

const HERE = new AbortController().signal;

/** Calls a tool and hands on its answer, whatever it is. */
export const answerOf = (
  admin: RelayAdmin,
  name: string,
  given: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = HERE,
): Promise<ToolAnswer> => admin.call(name, given, signal);

/** Calls a tool and expects a result. */
export const resultOf = async (...call: Parameters<typeof answerOf>): Promise<ToolResult> => {
  const answer = await answerOf(...call);
  if (answer.kind === 'done') return answer.result;
  throw new Error(answer.kind === 'failed' ? answer.text : `no tool ${call[1]}`);
};

/** Calls a tool and expects its refusal, as the sentence that the model is shown. */
export const refusalOf = async (...call: Parameters<typeof answerOf>): Promise<string> => {
  const answer = await answerOf(...call);
  if (answer.kind === 'failed') return answer.text;
  throw new Error(`expected a refusal, got ${JSON.stringify(answer)}`);
};

/** A key that fits the rule. */
export const keyNumber = (number: number): string => `key-${String(number).padStart(16, '0')}`;

/** The token of a preview. */
export const previewed = async (admin: RelayAdmin, userId: number, amount: string): Promise<string> => {
  const { preview_token } = await resultOf(admin, 'preview_recharge', { user_id: userId, amount });
  return String(preview_token);
};
