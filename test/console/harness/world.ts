import { createHash, createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { LogoutFile } from '../../../src/console/accounts/ended-sessions.ts';
import type { DeriveKey } from '../../../src/console/accounts/password-hash.ts';
import { formatPasswordHash, hashPassword } from '../../../src/console/accounts/password-hash.ts';
import { createConsole } from '../../../src/console/app.ts';
import type { ConsoleMetrics, ConsoleReadings } from '../../../src/console/metrics.ts';
import type { ReadJournal } from '../../../src/console/recharges/recharge-reading.ts';
import { readConsoleSettings } from '../../../src/console/settings.ts';
import { setPeer } from '../../../src/core/http/peer.ts';
import { runAtOnce } from '../../../src/core/time-slices.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createFakeAgent } from './fake-agent.ts';
import { type Answering, createFakeServices } from './fake-services.ts';

export const SECRET = 'a-secret-of-the-console-that-signs-everything';
export const ADMIN_KEY = 'canary-gateway-admin-key';
export const AGENT_PASSWORD = 'canary-agent-password';
export const BRIDGE_KEY = 'canary-bridge-key';

/** A hash that costs nothing, and counts how often it is asked for. */
export const createFakeScrypt = () => {
  const asked: string[] = [];
  const deriveKey: DeriveKey = async (password, salt, cost) => {
    asked.push(`${cost.cost} ${cost.blockSize} ${cost.parallel}`);
    return createHash('sha256').update(`${salt} ${password}`).digest('base64url');
  };
  return { deriveKey, asked };
};

const noKey = createFakeScrypt().deriveKey;
export const hashText = async (password: string): Promise<string> =>
  formatPasswordHash(await hashPassword(password, 'c2FsdHNhbHRzYWx0c2FsdA', noKey));

/** Ann may all, Bob decides, Vera looks; the password of each is the name and `-password`. */
export const USERS = (
  await Promise.all(
    (['ann:admin', 'bob:approver', 'vera:viewer'] as const).map(
      async (user) => `${user}:${await hashText(`${user.split(':')[0]}-password`)}`,
    ),
  )
).join(',');

/** The lines of logouts of several consoles, until they fail. */
export const createLogoutLines = () => {
  const lines: string[] = [];
  let failure: string | undefined;
  const file: LogoutFile = {
    async append(line) {
      if (failure !== undefined) throw new Error(failure);
      lines.push(line);
    },
    async readNew() {
      if (failure !== undefined) throw new Error(failure);
      return [...lines, '{"id":'];
    },
  };
  return {
    ...file,
    fail(reason: string): void {
      failure = reason;
    },
  };
};

type WorldNeeds = {
  readonly variables?: Readonly<Record<string, string>>;
  readonly gateway?: Answering;
  readonly bridge?: Answering;
  readonly hook?: Answering;
  readonly readJournal?: ReadJournal;
  readonly logouts?: LogoutFile;
};

const createMeter = () => {
  const counted: string[] = [];
  let read: (() => ConsoleReadings) | undefined;
  const meter: ConsoleMetrics = {
    recordRequest: () => {},
    recordDecision: (reply) => counted.push(`decision ${reply}`),
    recordLogin: (outcome) => counted.push(`login ${outcome}`),
    recordNotification: (outcome) => counted.push(`notification ${outcome}`),
    recordRechargesInDoubt: (count) => counted.push(`recharges in doubt ${count ?? 'unknown'}`),
    watch(source) {
      read = source;
    },
    text: async () => JSON.stringify(read?.()),
  };
  return { meter, counted, readings: () => read?.() };
};

export type ConsoleWorld = Awaited<ReturnType<typeof createConsoleWorld>>;

/** A console before two agent servers of one store each, a gateway, a bridge and a webhook, all of them fake. */
export const createConsoleWorld = async ({
  variables = {},
  gateway,
  bridge,
  hook,
  readJournal,
  logouts,
}: WorldNeeds = {}) => {
  const clock = createFakeClock();
  const agents = [createFakeAgent(clock.now), createFakeAgent(clock.now)] as const;
  const services = createFakeServices({
    'http://agent-1': agents[0].answer,
    'http://agent-2': agents[1].answer,
    'http://gateway': gateway ?? (() => ({ value: { status: 'ok' } })),
    'http://bridge': bridge ?? (() => ({ value: { status: 'ok' } })),
    'https://hook.example': hook ?? (() => ({ value: {} })),
  });
  const settings = readConsoleSettings({
    CONSOLE_AGENT_URLS: 'http://agent-1,http://agent-2',
    AGENT_SERVER_PASSWORD: AGENT_PASSWORD,
    CONSOLE_GATEWAY_URL: 'http://gateway',
    GATEWAY_ADMIN_KEY: ADMIN_KEY,
    CONSOLE_BRIDGE_URL: 'http://bridge',
    CONSOLE_BRIDGE_KEY: BRIDGE_KEY,
    CONSOLE_USERS: USERS,
    CONSOLE_SECRET: SECRET,
    ...variables,
  });
  const scrypt = createFakeScrypt();
  const lines: string[] = [];
  let ids = 0;
  const { meter, counted, readings } = createMeter();
  let isStopping = false;
  const running = createConsole({
    settings,
    secret: settings.secret ?? SECRET,
    page: undefined,
    clock,
    log: (level, event, fields) => void lines.push(JSON.stringify({ level, event, ...fields })),
    meter,
    httpClient: services.httpClient,
    stream: services.stream,
    digest: (text) => createHash('sha256').update(text).digest('base64url'),
    mac: async (secret, text) => createHmac('sha256', secret).update(text).digest('base64url'),
    gzip: (text) => new Uint8Array(gzipSync(text)),
    deriveKey: scrypt.deriveKey,
    newId: () => `id-${ids++}`,
    readJournal,
    logouts,
    runInSlices: async (steps) => runAtOnce(steps),
    version: '0.1.0',
    isStopping: () => isStopping,
    memoryBytes: 1_000_000_000,
  });
  running.start();
  await clock.advance(0);
  const { handler } = running;
  const send = (method: string, path: string, given: SendOptions = {}): Promise<Response> => {
    const { body, form, headers = {}, peer = '198.51.100.1', signal } = given;
    const type = form === undefined ? (body === undefined ? {} : { 'content-type': 'application/json' }) : {};
    const request = new Request(`http://127.0.0.1:4200${path}`, {
      method,
      headers: { host: '127.0.0.1:4200', ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      ...(signal === undefined ? {} : { signal }),
    });
    setPeer(request, peer);
    return handler(request);
  };
  /** Logs in, and returns what a browser sends from then on. */
  const login = async (name: string, password = `${name}-password`): Promise<Visit> => {
    const before = (await (await send('GET', '/api/me')).json()) as { csrf: string };
    const answer = await send('POST', '/api/login', { body: { name, password }, headers: { 'x-csrf': before.csrf } });
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const me = (await (await send('GET', '/api/me', { headers: { cookie } })).json()) as { csrf: string };
    return { answer, cookie, csrf: me.csrf, headers: { cookie, 'x-csrf': me.csrf } };
  };
  /** Sends as someone who has logged in. */
  const as = async (name: string) => {
    const { headers } = await login(name);
    return (method: string, path: string, body?: unknown): Promise<Response> =>
      send(method, path, { headers, ...(body === undefined ? {} : { body }) });
  };
  return {
    ...{ clock, agents, services, send, login, as, scrypt, lines, counted, readings, handler },
    stop(): void {
      isStopping = true;
      running.stop();
    },
  };
};

type SendOptions = {
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly peer?: string;
  readonly signal?: AbortSignal;
};
type Visit = {
  readonly answer: Response;
  readonly cookie: string;
  readonly csrf: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** The code of an error answer. */
export const codeOf = async (answer: Response): Promise<string | undefined> =>
  ((await answer.json()) as { error?: { code?: string } }).error?.code;
