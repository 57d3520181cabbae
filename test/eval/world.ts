import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/core/clock.ts';
import { EVAL_CATEGORIES, type EvalCategory, type Label } from '../../src/eval/category.ts';
import type { EvalScores, JudgedResult } from '../../src/eval/result.ts';
import type { HashedItem } from '../../src/eval/run.ts';

export const scoresOf = (some: Partial<EvalScores> = {}): EvalScores => ({
  ...(Object.fromEntries(EVAL_CATEGORIES.map((category) => [category, 0])) as EvalScores),
  ...some,
});

export const ASKED = { model: 'm' };
export const GATEWAY = { url: 'http://gate', backendModel: 'big-model', policy: '1' };

/** An answer of OpenAI's shape: what scores 0.5 or more is flagged. */
export const moderationOf = (some: Partial<EvalScores> = {}) => {
  const scores = scoresOf(some);
  const categories = Object.fromEntries(EVAL_CATEGORIES.map((category) => [category, scores[category] >= 0.5]));
  const flagged = Object.values(categories).includes(true);
  return { id: 'modr-1', model: 'moderation-fast', results: [{ flagged, categories, category_scores: scores }] };
};

export const judgedOf = (some: Partial<EvalScores> = {}, ms = 1): JudgedResult => {
  const scores = scoresOf(some);
  const categories: EvalCategory[] = EVAL_CATEGORIES.filter((category) => scores[category] >= 0.5);
  return {
    id: '1',
    hash: 'h',
    status: 'judged',
    flagged: categories.length > 0,
    categories,
    scores,
    ms,
    gateway: GATEWAY,
    asked: ASKED,
  };
};

export const itemOf = (text: string): HashedItem => ({
  id: text,
  text,
  hash: `hash of ${text}`,
  known: new Map<Label, boolean>(),
});

type ManualClock = Clock & { readonly advance: (ms: number) => void };

/** Time that passes only when it is told to. */
export const createManualClock = (): ManualClock => {
  let now = 1_000_000;
  let timers: { at: number; task: () => void }[] = [];
  return {
    now: () => now,
    after(delayMs, task) {
      const timer = { at: now + delayMs, task };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { task } of due) task();
    },
  };
};

/** Lets everything that is ready to run do so. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function* stream<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

export const gather = async <T>(values: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const value of values) list.push(value);
  return list;
};

/** A new folder with one file in it, gone when the tests are; returns the file's path. */
export const fileOf = (name: string, content: string | Uint8Array): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-eval-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

type Reply = { readonly status?: number; readonly body?: unknown; readonly headers?: Record<string, string> };
/** Answers the text of one request; `count` says how often this text has been asked, from 1. */
export type Script = (text: string, count: number) => Reply | Promise<Reply>;

const bodyOf = async (message: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
};

/** A gateway that says what it is told to and remembers what it was asked. */
export const startGateway = async (script: Script) => {
  const asked: string[] = [];
  const seen: { path: string | undefined; authorization: string | undefined; model: unknown }[] = [];
  const load = { now: 0, most: 0 };
  const server = createServer(async (message, response) => {
    // It keeps no metrics.
    if (message.method !== 'POST') return response.writeHead(404).end();
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    const { input, model } = JSON.parse(await bodyOf(message));
    asked.push(input);
    seen.push({ path: message.url, authorization: message.headers.authorization, model });
    const {
      status = 200,
      body = moderationOf(),
      headers = {},
    } = await script(input, asked.filter((text) => text === input).length);
    load.now -= 1;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    seen,
    load,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
};
