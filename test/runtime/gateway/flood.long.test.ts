import { request } from 'node:http';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { worstBodies } from '../../gateway/harness/worst-texts.ts';
import { peakMegabytes } from '../memory.ts';
import { freePort, type Running, start } from '../processes.ts';
import { type Gateway, startGateway } from './process.ts';

const FLOODING_KEY = 'key-of-the-flood';
const OTHER_KEY = 'key-of-others';
const ALIAS = JSON.stringify({ 'moderation-fast': 'bench' });
const EVERY_MS = 500;
const PHASE_MS = 10_000;
const MOST_ROUNDS = 6;
const HEALTH_LIMIT_MS = 50;
/** Where others keep the machine so busy that `/health` alone takes about as long, the flood may double that. */
const BUSY_FACTOR = 2;
const SLOWER_LIMIT = 5;
/** A timer of the tests' own process, on a busy machine, is no surer than this. */
const CERTAIN_MS = 5;

/** Bodies of 1 MiB that are all different, so that no verdict answers two of them. */
const BODIES = worstBodies(1024 * 1024, 100_000, 32).flatMap((body, recipe) => {
  const { input } = JSON.parse(body) as { input: string[] };
  return [1, 2, 3].map((copy) =>
    Buffer.from(JSON.stringify({ input: input.map((text) => `${recipe}${copy}${text.slice(3)}`) })),
  );
});

type Posting = { readonly path: string; readonly key?: string; readonly body?: Buffer };

/** Milliseconds until the whole answer is there, and its status. */
const timed = ({ address }: Gateway, { path, key, body }: Posting) =>
  new Promise<{ readonly ms: number; readonly status: number }>((resolve, reject) => {
    const startedAt = performance.now();
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
    };
    const sending = request(`${address}${path}`, { method: body === undefined ? 'GET' : 'POST', headers }, (answer) => {
      answer.resume().once('end', () => {
        resolve({ ms: performance.now() - startedAt, status: answer.statusCode ?? 0 });
      });
    });
    sending.once('error', reject).end(body);
  });

const quantile = (times: readonly number[], share: number): number =>
  times.toSorted((left, right) => left - right)[Math.floor(times.length * share)] ?? Number.NaN;

type Times = { readonly health: number[]; readonly small: number[] };

let texts = 0;

/** What others wait for `/health` and for the verdict on a short text, while `isOn`. */
const probe = async (gateway: Gateway, isOn: () => boolean): Promise<Times> => {
  const times: Times = { health: [], small: [] };
  const ask = async (to: number[], posting: () => Posting): Promise<void> => {
    while (isOn()) {
      const { ms, status } = await timed(gateway, posting());
      assert.is(status, 200);
      to.push(ms);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await Promise.all([
    ask(times.health, () => ({ path: '/health' })),
    ask(times.small, () => {
      texts += 1;
      const body = Buffer.from(JSON.stringify({ input: `good morning to all of you, number ${texts}` }));
      return { path: '/v1/moderations', key: OTHER_KEY, body };
    }),
  ]);
  return times;
};

const probeFor = (gateway: Gateway, ms: number): Promise<Times> => {
  const endsAt = performance.now() + ms;
  return probe(gateway, () => performance.now() < endsAt);
};

/** The statuses that the flood got. */
const flood = async (gateway: Gateway, ms: number): Promise<Readonly<Record<string, number>>> => {
  const statuses: Record<string, number> = {};
  const sent: Promise<void>[] = [];
  for (let count = 0; count * EVERY_MS < ms; count++) {
    const body = BODIES[count % BODIES.length] ?? Buffer.alloc(0);
    sent.push(
      timed(gateway, { path: '/v1/moderations', key: FLOODING_KEY, body }).then(({ status }) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  await Promise.all(sent);
  return statuses;
};

const inWorld = async (body: (gateway: Gateway) => Promise<void>): Promise<void> => {
  const port = await freePort();
  let backend: Running | undefined;
  let gateway: Gateway | undefined;
  try {
    // As many tokens as the longest prompt may have.
    const variables = { PORT: String(port), PROMPT_TOKENS: '80000' };
    backend = start(process.execPath, ['bench/fake-backend.mjs'], { variables });
    gateway = await startGateway({
      MODERATION_API_KEYS: `${FLOODING_KEY},${OTHER_KEY}`,
      BACKEND_BASE_URL: `http://127.0.0.1:${port}`,
      BACKEND_DIALECT: 'openai',
      MODERATION_MODELS: ALIAS,
      NODE_OPTIONS: '--max-semi-space-size=8',
    });
    await body(gateway);
  } finally {
    await gateway?.kill();
    await backend?.kill();
  }
};

const shown = ({ health, small }: Times): string =>
  `/health p50 ${quantile(health, 0.5).toFixed(1)} p99 ${quantile(health, 0.99).toFixed(1)} ms, ` +
  `short text p50 ${quantile(small, 0.5).toFixed(1)} p99 ${quantile(small, 0.99).toFixed(1)} ms`;

describe('one key that sends the costliest body of 1 MiB twice a second', (check) => {
  check('leaves others their answers: /health, and the verdicts on short texts', () =>
    inWorld(async (gateway) => {
      await probeFor(gateway, 2000);
      // The best of some rounds: a busy machine holds every process up now and then.
      let [health, slower] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      const isGood = () => health < 1 && slower < SLOWER_LIMIT;
      for (let round = 0; round < MOST_ROUNDS && !isGood(); round++) {
        const quiet = await probeFor(gateway, PHASE_MS);
        const flooding = flood(gateway, PHASE_MS);
        const flooded = await probeFor(gateway, PHASE_MS);
        const statuses = await flooding;
        console.log(`figure: quiet: ${shown(quiet)}`);
        console.log(`figure: flooded: ${shown(flooded)}; the flood got ${JSON.stringify(statuses)}`);
        const [before, during] = [quiet, flooded].map(({ small }) => Math.max(CERTAIN_MS, quantile(small, 0.99)));
        const limit = Math.max(HEALTH_LIMIT_MS, BUSY_FACTOR * quantile(quiet.health, 0.99));
        health = Math.min(health, quantile(flooded.health, 0.99) / limit);
        slower = Math.min(slower, (during ?? 0) / (before ?? 1));
      }
      console.log(`figure: peak ${Math.round(peakMegabytes(gateway.child.pid))} MB`);
      assert.ok(health < 1, `p99 of /health ${health} times its limit`);
      assert.ok(slower < SLOWER_LIMIT, `p99 of short texts ${slower} times that of before`);
    }),
  );
});
