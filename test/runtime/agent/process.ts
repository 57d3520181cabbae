import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamEvent } from '../../../src/agent/http/events.ts';
import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import { bundle, type Ended, type Running, start, type Variables } from '../processes.ts';

export const USER = 'operator';
export const PASSWORD = 'canary-password-7f3a91';

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** What an answer was; `json` is its body, read as what the caller expects. */
type Reply<T> = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: T;
};
type AskMore = { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal };

/** Events of the stream itself are bare and have no id; those of `/global/event` stand in envelopes. */
type Reported = AgentEvent | { readonly type: StreamEvent['type']; readonly id?: undefined };
export type Listening = {
  readonly seen: () => readonly Reported[];
  /** The stream as it came. */
  readonly text: () => string;
  /** The first event that fits, from the beginning of the stream. */
  readonly until: (what: string, fits: (event: Reported) => boolean) => Promise<Reported>;
  /** Settles when the server has ended the stream, with whether it ended it in order. */
  readonly ended: Promise<'ended' | 'broken'>;
  readonly leave: () => void;
};

export type AgentProcess = {
  readonly running: Running;
  readonly pid: number;
  readonly address: string;
  /** One request with the password, and its whole answer. */
  readonly ask: <T = unknown>(method: string, path: string, body?: unknown, more?: AskMore) => Promise<Reply<T>>;
  /** A request whose answer is not read yet. */
  readonly send: (method: string, path: string, body?: unknown, more?: AskMore) => Promise<Response>;
  readonly listen: (path?: string, headers?: Readonly<Record<string, string>>) => Promise<Listening>;
  /** The events in the log so far, in order. */
  readonly logged: () => readonly Readonly<Record<string, unknown>>[];
  readonly signal: (name: NodeJS.Signals) => Promise<Ended & { readonly tookMs: number }>;
  /** Ends the process the hard way and waits until it is gone. */
  readonly kill: () => Promise<void>;
};

export type AgentNeeds = {
  readonly variables: Variables;
  /** Where it runs, and where its data are unless the variables say otherwise. */
  readonly directory: string;
  /** Another runtime, and what stands before the bundle. */
  readonly command?: string;
  readonly flags?: readonly string[];
};

const READY_LIMIT_MS = 30_000;
const ENDING_LIMIT_MS = 20_000;
const EVENT_LIMIT_MS = 20_000;

const listening = (response: Response, leave: () => void): Listening => {
  let text = '';
  const events: Reported[] = [];
  const watchers = new Set<() => void>();
  const report = () => {
    for (const watcher of [...watchers]) watcher();
  };
  const read = async (): Promise<'ended' | 'broken'> => {
    let rest = '';
    try {
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) {
        const piece = decoder.decode(bytes, { stream: true });
        text += piece;
        const blocks = (rest + piece).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const data = block.split('\n').find((line) => line.startsWith('data: '));
          if (data !== undefined) events.push(JSON.parse(data.slice('data: '.length)) as Reported);
        }
        report();
      }
      return 'ended';
    } catch {
      return 'broken';
    }
  };
  let isOver = false;
  const ended = read().finally(() => {
    isOver = true;
    report();
  });
  return {
    seen: () => [...events],
    text: () => text,
    until: (what, fits) =>
      new Promise((settle, reject) => {
        const finish = (end: () => void) => {
          watchers.delete(look);
          clearTimeout(timer);
          end();
        };
        const fail = (why: string) =>
          finish(() => reject(new Error(`${why} ${what}; told were ${events.map(({ type }) => type).join(' ')}`)));
        const look = () => {
          const found = events.find(fits);
          if (found !== undefined) finish(() => settle(found));
          else if (isOver) fail('the stream ended without');
        };
        const timer = setTimeout(() => fail('the stream takes too long for'), EVENT_LIMIT_MS);
        watchers.add(look);
        look();
      }),
    ended,
    leave,
  };
};

/** What the agent bundle is started with, without waiting for anything. */
export const beginAgent = ({ variables, directory, command, flags = [] }: AgentNeeds): Running =>
  start(command ?? process.execPath, [...flags, bundle('agent.js')], {
    directory,
    variables: { PORT: '0', HOST: '127.0.0.1', ...variables },
  });

/** A check that fails before it waits for this must not end the process with it. */
export const awaitedLater = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(() => {});
  return promise;
};

const wholeOf = async <T>(response: Response): Promise<Reply<T>> => {
  const { status, headers } = response;
  const text = await response.text();
  // An export is several lines of JSON.
  const isJson = /\bjson\b/.test(headers.get('content-type') ?? '') && text.trim() !== '';
  return { status, headers, text, json: (isJson ? JSON.parse(text) : undefined) as T };
};

/** A client of a server that says where it listens. */
export const agentAt = (running: Running, address: string, password: string = PASSWORD): AgentProcess => {
  const send: AgentProcess['send'] = (method, path, body, { headers = {}, signal } = {}) =>
    fetch(address + path, {
      method,
      headers: {
        authorization: basic(USER, password),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    running,
    pid: running.child.pid ?? 0,
    address,
    send,
    ask: <T>(method: string, path: string, body?: unknown, more?: AskMore): Promise<Reply<T>> =>
      awaitedLater(send(method, path, body, more).then((response) => wholeOf<T>(response))),
    async listen(path = '/event', headers = {}) {
      const leaving = new AbortController();
      const response = await send('GET', path, undefined, { headers, signal: leaving.signal });
      if (response.status !== 200) throw new Error(`GET ${path} was answered with ${response.status}`);
      const listener = listening(response, () => leaving.abort());
      await listener.until('its greeting', () => true);
      return listener;
    },
    logged: () =>
      running
        .stderr()
        .split('\n')
        .flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : [])),
    async signal(name) {
      const startedAt = performance.now();
      // Ends it the hard way when it does not end by itself: the caller then sees that signal.
      const timer = setTimeout(() => running.signal('SIGKILL'), ENDING_LIMIT_MS);
      running.signal(name);
      const ended = await running.ended;
      clearTimeout(timer);
      return { ...ended, tookMs: performance.now() - startedAt };
    },
    kill: running.kill,
  };
};

/** The address that a server has said in its log. */
export const addressOf = async (running: Running): Promise<string> => {
  const [, address = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
  return address;
};

/** Waits until the server says that it is ready. */
export const untilReady = async (running: Running, address: string): Promise<void> => {
  const startedAt = performance.now();
  for (;;) {
    const response = await fetch(`${address}/ready`);
    await response.body?.cancel();
    if (response.ok) return;
    if (performance.now() - startedAt > READY_LIMIT_MS) throw new Error(`never ready; it wrote:\n${running.stderr()}`);
    await sleep(3);
  }
};

/** Starts the agent bundle with these variables and none of whoever runs the tests, and waits until it is ready. */
export const startAgent = async (needs: AgentNeeds): Promise<AgentProcess> => {
  const running = beginAgent(needs);
  const address = await addressOf(running);
  await untilReady(running, address);
  return agentAt(running, address, needs.variables.AGENT_SERVER_PASSWORD ?? PASSWORD);
};
