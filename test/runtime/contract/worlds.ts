import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Backend, judgedBy, type Script, startBackend } from '../backends.ts';
import { type Answer, fetchText, KEY, moderate, type Question } from '../client.ts';
import type { Gateway } from '../gateway/process.ts';
import type { Variables } from '../processes.ts';

/** One way of running the gateway, as a file of the contract names it. */
export type Runtime = {
  readonly name: string;
  readonly start: (variables: Variables) => Promise<Gateway>;
  readonly keepsMetrics: boolean;
  /** Sent behind the path of a moderation. */
  readonly query?: string;
  /** How long its processes take to tell each other what one of them has learned. None where one process answers. */
  readonly sharingMs?: number;
  /** Starts with variables that must not do, and gives back what it says to whoever runs it and to whoever asks it. */
  readonly refused: (variables: Variables) => Promise<{ readonly printed: string; readonly answered: string }>;
};

export const ADMIN_KEY = 'canary-admin-key-1';
export const BACKEND_KEYS = ['canary-backend-key-1', 'canary-backend-key-2'];
/** A policy for the one gateway key, as an operator writes it without a file. */
const INLINE_POLICY = JSON.stringify({
  version: 'inline-1',
  policies: { mild: { categories: { harassment: { threshold: 0.3 } } } },
  use: { keys: { [hash('sha256', KEY).slice(0, 12)]: 'mild' } },
});
export const BODY_LIMIT_BYTES = 65_536;
/** Secrets, and what a stack or a path of ours would look like. */
export const INSIDES = /canary-|\bat .*\.js:\d|node_modules|file:\/\//;

const ACCOUNT = 'canary-account-42';

/** The backend does what the text asks for, so that one gateway can be shown every kind of trouble. */
const obedient: Script = ({ text }) => {
  if (text.includes('please answer nonsense')) return { status: 200, body: `{"model":"demo-judge","x":"${ACCOUNT}"}` };
  if (text.includes('please break')) return { status: 500, body: `{"error":"${ACCOUNT} broke"}` };
  if (text.includes('please hang')) return 'hang';
  if (text.includes('please take your time')) return { delayMs: 300 };
  return undefined;
};
const refusing: Script = () => ({ status: 401, body: JSON.stringify({ error: `unauthorized: ${ACCOUNT}` }) });

type World = { readonly gateway: Gateway; readonly backend: Backend };

/** The gateways of one runtime, each started when it is first wanted, and everything that they ever answered. */
export type Worlds = {
  readonly main: () => Promise<World>;
  readonly overOpenAi: () => Promise<World>;
  /** The backend refuses every key. */
  readonly overCloud: () => Promise<World>;
  readonly oneAtATime: () => Promise<World>;
  /** Asks a gateway for a moderation, by the way that is being tried. */
  readonly send: typeof moderate;
  /** Asks the main gateway for a moderation. */
  readonly ask: (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly get: (path: string, question?: Question) => Promise<Answer>;
  /** Resolves once what was learned from an answer is known wherever the next request may arrive. */
  readonly shared: () => Promise<void>;
  /** Keeps an answer for the last look at all of them. */
  readonly kept: (answer: Promise<Answer>) => Promise<Answer>;
  readonly answers: readonly Answer[];
  /** Ends everything and gives back what was started. */
  readonly stop: () => Promise<readonly World[]>;
};

export const createWorlds = ({ start, query = '', sharingMs = 0 }: Runtime): Worlds => {
  const worlds: Promise<World>[] = [];
  const answers: Answer[] = [];

  const startWorld = async (script: Script, variables: (backend: Backend) => Variables): Promise<World> => {
    const backend = await startBackend(script);
    const common = { MODERATION_API_KEYS: KEY, GATEWAY_ADMIN_KEY: ADMIN_KEY, MAX_BODY_BYTES: String(BODY_LIMIT_BYTES) };
    try {
      return { gateway: await start({ ...common, ...variables(backend) }), backend };
    } catch (error) {
      await backend.stop();
      throw error;
    }
  };
  const world = (script: Script, variables: (backend: Backend) => Variables) => {
    let started: Promise<World> | undefined;
    return (): Promise<World> => {
      if (started === undefined) {
        started = startWorld(script, variables);
        worlds.push(started);
      }
      return started;
    };
  };
  const main = world(obedient, ({ address }) => judgedBy(address));
  const kept = async (answer: Promise<Answer>): Promise<Answer> => {
    answers.push(await answer);
    return answer;
  };
  const send: typeof moderate = (address, body, headers, signal) => moderate(address, body, headers, signal, query);
  return {
    main,
    send,
    overOpenAi: world(obedient, ({ address }) => ({
      ...judgedBy(address),
      BACKEND_DIALECT: 'openai',
      BACKEND_API_KEYS: BACKEND_KEYS.join(','),
      RATE_LIMIT_RPM: '1',
    })),
    overCloud: world(refusing, ({ address }) => ({
      BACKEND_BASE_URL: address,
      BACKEND_DIALECT: 'ollama',
      BACKEND_API_KEYS: BACKEND_KEYS.join(','),
    })),
    // The queue holds what the largest request can need: that has to be little, or nobody is ever turned away.
    oneAtATime: world(obedient, ({ address }) => ({
      ...judgedBy(address),
      MAX_CONCURRENCY: '1',
      MAX_INPUTS: '1',
      MAX_BODY_BYTES: '1024',
      MODERATION_POLICY: INLINE_POLICY,
    })),
    ask: async (body, headers) => kept(send((await main()).gateway.address, body, headers)),
    get: async (path, question) => kept(fetchText((await main()).gateway.address + path, question)),
    shared: () => (sharingMs === 0 ? Promise.resolve() : pause(sharingMs)),
    kept,
    answers,
    async stop() {
      const settled = await Promise.allSettled(worlds);
      const started = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      await Promise.all(started.flatMap(({ gateway, backend }) => [gateway.kill(), backend.stop()]));
      return started;
    },
  };
};
