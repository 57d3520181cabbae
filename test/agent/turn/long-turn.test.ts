import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { openPostgres } from '../../../src/agent/adapter/postgres/connection.ts';
import { openPostgresStore } from '../../../src/agent/adapter/postgres/store.ts';
import { openSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import { createIds, type Ids } from '../../../src/agent/protocol/ids.ts';
import type { Store, StoreChange } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { bestStall, STALL_LIMIT_MS } from '../../event-loop-stall.ts';
import { processorTime } from '../../processor-time.ts';
import { dropSchema, startPostgres } from '../adapter/postgres/world.ts';
import { type AgentWorld, createAgentWorld, toolNamed } from '../harness/world.ts';
import { textPart, userMessage } from '../store/samples.ts';

const MIB = 1024 * 1024;
const SESSION_BYTES = 20 * MIB;
const MESSAGES = 500;
const STEPS = 50;
const COMMITTED_TOGETHER = 25;

type OpenStore = { readonly store: Store; readonly close: () => Promise<void> };

const openSqlite = async (ids: Ids): Promise<OpenStore> => {
  const directory = mkdtempSync(join(tmpdir(), 'long-turn-'));
  const store = await openSqliteStore({ file: join(directory, 'agent.db'), ids });
  return {
    store,
    async close() {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

const openShared = async (): Promise<OpenStore> => {
  const database = await startPostgres();
  const schema = database.freshSchema();
  const connection = await openPostgres({ url: database.url, schema, connections: 4 });
  const { store } = await openPostgresStore({
    connection,
    newServerID: () => crypto.randomUUID(),
    aliveMs: 60_000,
  });
  return {
    store,
    async close() {
      await store.close();
      await dropSchema(database, schema);
      await database.stop();
    },
  };
};

/** The same store, which counts the bytes of the messages that it gives. */
const countingReads = (store: Store) => {
  let bytes = 0;
  const counting: Store = {
    ...store,
    async messages(...asked) {
      const found = await store.messages(...asked);
      bytes += found.reduce((sum, { parts }) => sum + parts.reduce((all, part) => all + partChars(part), 0), 0);
      return found;
    },
  };
  const partChars = (part: object): number => ('text' in part ? String(part.text).length : 100);
  return { counting, takeBytes: () => bytes };
};

const chunk = (delta: object, finish: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'main', choices: [{ index: 0, delta, finish_reason: finish }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\ndata: [DONE]\n\n`;

const usedMs = processorTime();

/** A model that makes a call in each step of a turn but the last, behind the real SDK. */
const callingModel = (onRequest: () => void) => {
  let step = 0;
  const fetcher = async (): Promise<Response> => {
    onRequest();
    step += 1;
    const call = {
      index: 0,
      id: `call-${step}`,
      type: 'function',
      function: { name: 'look', arguments: `{"at":${step}}` },
    };
    const body = step % STEPS === 0 ? chunk({ content: 'Seen.' }, 'stop') : chunk({ tool_calls: [call] }, 'tool_calls');
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  return createAiModel({ fetcher, clock: systemClock, version: '0.0.0-test' });
};

const fill = async ({ store }: AgentWorld, sessionID: string): Promise<void> => {
  const text = 'ab c'.repeat(SESSION_BYTES / MESSAGES / 4);
  const placeOf = (at: number): string => `${String(at).padStart(12, '0')}aaaaaaaaaaaaaa`;
  for (let from = 1; from <= MESSAGES; from += COMMITTED_TOGETHER) {
    const places = Array.from({ length: COMMITTED_TOGETHER }, (_, index) => placeOf(from + index));
    const changes = places.flatMap((place): StoreChange[] => {
      const messageID = `msg_${place}`;
      const part = textPart({ id: `prt_${place}`, messageID, sessionID }, text);
      return [
        { kind: 'message', message: userMessage(messageID, sessionID) },
        { kind: 'part', part },
      ];
    });
    await store.commit(changes, []);
  }
};

describe('a turn of 50 steps in a session of 500 messages and 20 MB', (check) => {
  for (const [name, openStore] of Object.entries({ 'a file': openSqlite, PostgreSQL: openShared }))
    check(
      `reads the session once from ${name}, costs no more in its last steps, and never holds the event loop`,
      async () => {
        const ids = createIds(systemClock, randomBytes);
        const { store, close } = await openStore(ids);
        const { counting, takeBytes } = countingReads(store);
        /** Processor time, and bytes that the store has given, when the request of each step was sent. */
        let requests: { readonly atMs: number; readonly bytes: number }[] = [];
        const model = callingModel(() => void requests.push({ atMs: usedMs(), bytes: takeBytes() }));
        const memory = { limitBytes: 9 * MIB, memoryBytes: 4 * 1024 * MIB };
        const changes = { clock: systemClock, ids, model, memory };
        const world = await createAgentWorld({ store: counting, tools: [toolNamed('look')], titler: null, changes });
        try {
          const id = await world.session();
          await fill(world, id);
          const run = async (): Promise<void> => {
            requests = [{ atMs: usedMs(), bytes: takeBytes() }];
            const response = await world.call('POST', `/session/${id}/message`, {
              parts: [{ type: 'text', text: 'look' }],
            });
            assert.match(await response.text(), /Seen\./);
          };
          const probe = async (): Promise<void> => assert.is((await world.call('GET', '/health')).status, 200);
          const { gap } = await bestStall(run, probe);

          const spent = requests.slice(1).map((one, at) => ({
            ms: one.atMs - (requests[at]?.atMs ?? 0),
            bytes: one.bytes - (requests[at]?.bytes ?? 0),
          }));
          assert.is(spent.length, STEPS);
          const [first] = spent;
          const last = spent.slice(-9).map(({ ms }) => ms);
          const lastMs = last.sort((left, right) => left - right)[4] ?? 0;
          const figures = `${JSON.stringify(first)}, last ${lastMs} ms, event loop ${gap}`;
          assert.ok((first?.bytes ?? 0) > 0.99 * SESSION_BYTES, figures);
          for (const { bytes } of spent.slice(1)) assert.ok(bytes < 10_000, `a step has read ${bytes} bytes again`);
          assert.ok(lastMs <= 1.5 * (first?.ms ?? 0), figures);
          assert.ok(gap <= STALL_LIMIT_MS, figures);
        } finally {
          await world.server.stop();
          await close();
        }
      },
    );
});
