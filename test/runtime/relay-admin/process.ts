import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { BUNDLE_CACHE } from '../../compile-cache.ts';
import { bundle, type Ended, type Variables } from '../processes.ts';

/** A message of the protocol as it came over the wire. */
export type Message = {
  readonly jsonrpc?: string;
  readonly id?: number | string | null;
  readonly method?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
};
export type ToolResult = {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
};

export type RelayAdminProcess = {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Writes to standard input just what is given. */
  readonly write: (text: string | Buffer) => void;
  /** Writes one message, a line. */
  readonly send: (message: object) => void;
  /** The answer to a request, whether it is a result or an error. Rejects when the process ends or takes too long. */
  readonly ask: (method: string, params?: object) => Promise<Message>;
  /** The answer to a request that was sent with `send`. */
  readonly answerTo: (id: number | string) => Promise<Message>;
  readonly initialize: (version?: string) => Promise<Message>;
  readonly call: (tool: string, given?: object) => Promise<ToolResult>;
  /** Every line of standard output, and what came after the last line break. */
  readonly lines: () => readonly string[];
  readonly stderr: () => string;
  /** The events in the log so far, in order. */
  readonly events: () => readonly Readonly<Record<string, unknown>>[];
  /** The first match on standard error, now or later. */
  readonly outputMatching: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly ended: Promise<Ended>;
  readonly isOver: () => boolean;
  /** Ends the process's input, and tells how it ended and after how long. */
  readonly endInput: () => Promise<Ended & { readonly tookMs: number }>;
  readonly signal: (name: NodeJS.Signals) => Promise<Ended & { readonly tookMs: number }>;
  /** Ends the process the hard way and waits until it is gone. */
  readonly kill: () => Promise<void>;
};

export type ProcessNeeds = {
  readonly variables: Variables;
  /** What stands before the bundle: flags of the runtime. */
  readonly flags?: readonly string[];
  /** Another runtime, or another program altogether: then `words` are all of its arguments. */
  readonly command?: string;
  readonly words?: readonly string[];
  readonly directory?: string;
};

const ANSWER_LIMIT_MS = 20_000;
const ENDING_LIMIT_MS = 10_000;
const LATEST_VERSION = '2025-11-25';

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** A client's first request. */
const initializeParams = (protocolVersion: string = LATEST_VERSION) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'test', version: '0' },
});

/** What comes when `condition` first holds something, tried again whenever there is news. */
const createNews = (isOver: () => boolean, account: () => string) => {
  const listeners = new Set<() => void>();
  return {
    report() {
      for (const listener of [...listeners]) listener();
    },
    until: <T>(what: string, find: () => T | undefined): Promise<T> =>
      new Promise((settle, reject) => {
        const finish = (end: () => void) => {
          listeners.delete(look);
          clearTimeout(timer);
          end();
        };
        const fail = (why: string) => finish(() => reject(new Error(`${why} ${what}; ${account()}`)));
        const look = () => {
          const found = find();
          if (found !== undefined) finish(() => settle(found));
          else if (isOver()) fail('the process ended without');
        };
        const timer = setTimeout(() => fail('the process takes too long for'), ANSWER_LIMIT_MS);
        listeners.add(look);
        look();
      }),
  };
};

/** Starts the relay admin bundle with these variables and none of whoever runs the tests. */
export const startRelayAdmin = ({
  variables,
  flags = [],
  command,
  words,
  directory,
}: ProcessNeeds): RelayAdminProcess => {
  const child = spawn(command ?? process.execPath, words ?? [...flags, bundle('relay-admin.js')], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', ...BUNDLE_CACHE, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(directory === undefined ? {} : { cwd: directory }),
  });
  alive.add(child);
  let isOver = false;
  let stderr = '';
  let rest = '';
  let lastId = 0;
  const lines: string[] = [];
  const answers = new Map<number | string, Message>();
  const news = createNews(
    () => isOver,
    () => `it wrote:\n${(lines.at(-1) ?? '').slice(0, 500)}\n${stderr.slice(-3000)}`,
  );
  const receive = (line: string): void => {
    lines.push(line);
    if (!line.startsWith('{')) return;
    const message = JSON.parse(line) as Message;
    if (message.method === undefined && message.id !== undefined && message.id !== null)
      answers.set(message.id, message);
  };
  child.stdin.on('error', () => {});
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n');
    if (others.length === 0) rest += first;
    else {
      receive(rest + first);
      rest = others.pop() ?? '';
      for (const line of others) receive(line);
    }
    news.report();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    news.report();
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => {
    alive.delete(child);
    isOver = true;
    news.report();
    return { code, signal };
  });
  child.on('error', (error) => {
    stderr += String(error);
  });
  /** Ends it the hard way when it does not end by itself: the caller then sees the signal. */
  const timedEnd = async (begin: () => void) => {
    const startedAt = performance.now();
    const timer = setTimeout(() => child.kill('SIGKILL'), ENDING_LIMIT_MS);
    begin();
    const how = await ended;
    clearTimeout(timer);
    return { ...how, tookMs: performance.now() - startedAt };
  };
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answerTo = (id: number | string) => news.until(`an answer to request ${id}`, () => answers.get(id));
  const ask = (method: string, params: object = {}): Promise<Message> => {
    lastId += 1;
    send({ id: lastId, method, params });
    return answerTo(lastId);
  };
  return {
    child,
    pid: child.pid ?? 0,
    write: (text) => void child.stdin.write(text),
    send,
    ask,
    answerTo,
    async initialize(version) {
      const answer = await ask('initialize', initializeParams(version));
      send({ method: 'notifications/initialized' });
      return answer;
    },
    async call(name, given = {}) {
      const { result, error } = await ask('tools/call', { name, arguments: given });
      if (result === undefined) throw new Error(`${name}: ${error?.code} ${error?.message}`);
      return result as unknown as ToolResult;
    },
    lines: () => (rest === '' ? lines : [...lines, rest]),
    stderr: () => stderr,
    events: () => stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : [])),
    outputMatching: (pattern) => news.until(String(pattern), () => pattern.exec(stderr) ?? undefined),
    ended,
    isOver: () => isOver,
    endInput: () => timedEnd(() => child.stdin.end()),
    signal: (name) => timedEnd(() => child.kill(name)),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
};
