import * as assert from 'uvu/assert';
import { newId } from '../../../../src/adapter/web-crypto.ts';
import { createPostgresCluster } from '../../../../src/agent/adapter/postgres/cluster.ts';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { explainPostgresError, toTrouble } from '../../../../src/agent/adapter/postgres/errors.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';
import { atEnd, describe } from '../../../check.ts';
import { ask, textOf } from '../../harness/permission-requests.ts';
import { type AgentWorld, createAgentWorld, prompt } from '../../harness/world.ts';
import { dropSchema, startPostgres } from './world.ts';

const database = await startPostgres();
const SECRET = 'secret words';

/** An agent server over a PostgreSQL that answers with an error code where a message of one session is written. */
const withTrouble = async (
  body: (
    world: AgentWorld,
    fault: {
      readonly begin: (code: string, sessionID: string) => Promise<unknown>;
      readonly end: () => Promise<unknown>;
    },
  ) => Promise<void>,
): Promise<void> => {
  const schema = database.freshSchema();
  const connection = await openPostgres({ url: database.url, schema, connections: 3 });
  const times = { beatMs: 20, aliveMs: 900 };
  // Commits are tried again for so long. A sound one takes a few milliseconds, and on a busy machine much more.
  const given = { connection, newServerID: newId, aliveMs: times.aliveMs, awayLimitMs: 1500 };
  const shared = await openPostgresStore(given);
  const peers = createPostgresCluster({ connection, shared, times, onError() {} });
  const { store } = shared;
  try {
    const world = await createAgentWorld({ store, changes: { peers }, titler: null });
    await body(world, {
      async begin(code, sessionID) {
        await connection.query((sql) =>
          sql.unsafe(`
          CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION '${SECRET}' USING ERRCODE = '${code}'; END $$;
          CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON message
            FOR EACH ROW WHEN (NEW.session_id = '${sessionID}') EXECUTE FUNCTION fail()`),
        );
      },
      end: () => connection.query((sql) => sql.unsafe('DROP TRIGGER fail ON message; DROP FUNCTION fail')),
    }).finally(world.server.stop);
  } finally {
    await peers.close();
    await store.close();
    await dropSchema(database, schema);
  }
};
const readyOf = async ({ call }: AgentWorld) => {
  const response = await call('GET', '/ready');
  return [response.status, (await response.json()).reasons];
};
const refusalOf = async ({ call }: AgentWorld, id: string) => {
  const response = await call('POST', `/session/${id}/message`, prompt('hello'));
  const text = await response.text();
  assert.not.match(text, SECRET);
  return [response.status, JSON.parse(text).data.code];
};

describe('an agent server over a PostgreSQL that answers and does not work', (check) => {
  check('says that the disk is full while it is, and goes on when there is space', () =>
    withTrouble(async (world, fault) => {
      const id = await world.session();
      await fault.begin('53100', id);
      assert.equal(await refusalOf(world, id), [507, 'disk_full']);
      await fault.end();
      assert.is(textOf(await ask(world, id)), 'hello');
      assert.equal(await readyOf(world), [200, undefined]);
    }),
  );

  for (const code of ['XX001', 'XX002', '58P01'])
    check(`says that the database is damaged until it is started again, and serves what is not: ${code}`, () =>
      withTrouble(async (world, fault) => {
        const [damaged, sound] = [await world.session(), await world.session()];
        await fault.begin(code, damaged);
        const [refusal, answer] = await Promise.all([refusalOf(world, damaged), ask(world, sound)]);
        assert.equal([refusal, textOf(answer)], [[500, 'store_damaged'], 'hello']);
        assert.equal(await readyOf(world), [503, ['the database of the store is damaged']]);
        await fault.end();
        assert.is(textOf(await ask(world, damaged)), 'hello');
        assert.equal(await readyOf(world), [503, ['the database of the store is damaged']]);
        assert.not.ok(world.logged.some((line) => line.includes('"bug"') || line.includes(SECRET)));
      }),
    );

  check('is told from one that cannot be reached, and from a query that is wrong', () => {
    const troubleOf = (code: string) => toTrouble(Object.assign(new Error(SECRET), { code }));
    assert.equal(['58030', '57P01', '57014', '08006', '42601'].map(troubleOf), [
      'disk-failing',
      'unreachable',
      'unreachable',
      'unreachable',
      undefined,
    ]);
    const atStart = explainPostgresError(Object.assign(new Error(SECRET), { code: 'XX001' }));
    assert.match(String(atStart), 'expected a sound database, and this one is damaged');
  });
});

atEnd(database.stop);
