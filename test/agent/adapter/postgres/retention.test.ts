import * as assert from 'uvu/assert';
import { atEnd, describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { NO_AGENT_METRICS } from '../../harness/metrics.ts';
import { hanging, prompt } from '../../harness/world.ts';
import { type Replica, startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const MINUTE_MS = 60_000;
const database = await startPostgres();

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Two servers on one database that keep sessions for a minute, each with a clock of its own. */
const startTwo = async (schema: string, retired: number[]) => {
  const metrics = { ...NO_AGENT_METRICS, sessionsRetired: (sessions: number) => void retired.push(sessions) };
  return Promise.all(
    [1, 2].map(async () => {
      const clock = createFakeClock();
      const changes = { clock, retention: { ageMs: MINUTE_MS }, metrics };
      const replica = await startReplica(database, schema, { titler: null, scripts: [hanging], changes });
      return { replica, clock };
    }),
  );
};
const idsIn = async ({ store }: Replica): Promise<readonly string[]> => (await store.sessions({})).map(({ id }) => id);

describe('retention at two servers on one database', (check) => {
  check('removes each family once, and leaves what either has under way', async () => {
    const schema = database.freshSchema();
    const retired: number[] = [];
    const both = await startTwo(schema, retired);
    const [{ replica: a }, { replica: b }] = both as [(typeof both)[0], (typeof both)[0]];
    try {
      for (let count = 0; count < 12; count++) await a.session({ parentID: await b.session() });
      const [busyAtA, busyAtB] = [await a.session(), await b.session()];
      await Promise.all([
        a.call('POST', `/session/${busyAtA}/prompt_async`, prompt('hello')),
        b.call('POST', `/session/${busyAtB}/prompt_async`, prompt('hello')),
      ]);
      while (a.asked.length + b.asked.length < 2) await sleep(5);
      await Promise.all(both.map(({ clock }) => clock.advance(4 * MINUTE_MS)));
      for (let tries = 0; tries < 1000 && (await idsIn(a)).length > 2; tries++) {
        await Promise.all(both.map(({ clock }) => clock.advance(60)));
        await sleep(5);
      }
      assert.equal([...(await idsIn(a))].sort(), [busyAtA, busyAtB].sort());
      const deleted = (await a.events()).filter(({ type }) => type === 'session.deleted');
      assert.is(deleted.length, 24);
      const retiredCount = (): number => retired.reduce((sum, count) => sum + count, 0);
      // Counted after they are gone.
      for (let tries = 0; tries < 400 && retiredCount() < 24; tries++) await sleep(5);
      assert.is(retiredCount(), 24);
      const failure = [a, b].flatMap(({ logged }) => logged).filter((line) => /retention-failed|"bug"/.test(line));
      assert.equal(failure, []);
    } finally {
      await Promise.all([a, b].map(({ vanish }) => vanish()));
      await dropSchema(database, schema);
    }
  });
});

atEnd(database.stop);
