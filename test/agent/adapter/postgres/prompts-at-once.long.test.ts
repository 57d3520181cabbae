import * as assert from 'uvu/assert';
import { atEnd, describe } from '../../../check.ts';
import { prompt, type Script } from '../../harness/world.ts';
import { until } from './cluster-world.ts';
import { startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const database = await startPostgres();
const ROUNDS = 5;
const CLIENTS = 12;
const REQUESTS = 25;
const TOKENS = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 };

/** Repeats the prompt, after a moment. */
const echo: Script = async function* ({ messages }) {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 8));
  const text = JSON.stringify(messages.findLast(({ role }) => role === 'user'));
  yield { kind: 'text', delta: /p\d+-\d+/.exec(text)?.[0] ?? '' };
  yield { kind: 'finished', finish: 'stop', tokens: TOKENS };
};
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;

describe('prompts and aborts of few sessions at three servers at once', (check) => {
  check('end, each with its own answer or as aborted, and leave no ticket and nothing owed', async () => {
    const schema = database.freshSchema();
    const given = { scripts: [echo], titler: null };
    const servers = await Promise.all([1, 2, 3].map(() => startReplica(database, schema, given)));
    const [first] = servers;
    if (first === undefined) throw new Error('no servers');
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const ids = await Promise.all([1, 2, 3, 4].map(() => first.session()));
        const client = async (number: number): Promise<void> => {
          for (let count = 0; count < REQUESTS; count++) {
            const { whole } = oneOf(servers);
            const path = `/session/${oneOf(ids)}`;
            if (Math.random() < 0.08) await whole('POST', `${path}/abort`);
            const name = `p${number}-${count}`;
            const { info, parts } = JSON.parse((await whole('POST', `${path}/message`, prompt(name))).text);
            if (info.error === undefined) assert.match(JSON.stringify(parts), `"text":"${name}"`);
            else assert.is(info.error.name, 'MessageAbortedError');
          }
        };
        await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
        assert.equal(await first.store.owed(), []);
        await until('every session is idle', async () => JSON.stringify(await first.get('/session/status')) === '{}');
      }
    } finally {
      for (const server of servers) await server.leave();
      await dropSchema(database, schema);
    }
  });
});

atEnd(database.stop);
