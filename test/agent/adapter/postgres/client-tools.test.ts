import * as assert from 'uvu/assert';
import { atEnd, describe } from '../../../check.ts';
import {
  askWithTools,
  callIDsOf,
  callsOf,
  clockCall,
  errorOf,
  giveResults,
  sessionAt,
  weatherCall,
} from '../../harness/client-tools.ts';
import { answersIn, messagesOf, textOf } from '../../harness/permission-requests.ts';
import { calling, hanging, replying, type WorldGiven } from '../../harness/world.ts';
import { type Replica, startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const PATIENCE_MS = 20_000;
const database = await startPostgres();

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error('It never came to be');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

/** Three servers on one database, the first of which has a turn that waits for two results. */
const withWaiting = async (
  givens: readonly [WorldGiven, WorldGiven, WorldGiven],
  body: (given: {
    readonly servers: readonly [Replica, Replica, Replica];
    readonly id: string;
    readonly results: readonly { readonly callID: string; readonly output: string }[];
  }) => Promise<void>,
): Promise<void> => {
  const schema = database.freshSchema();
  const [first, second, third] = givens;
  const scripts = [calling(weatherCall, clockCall), ...(first.scripts ?? [])];
  const servers = await Promise.all([
    startReplica(database, schema, { ...first, scripts }),
    startReplica(database, schema, second),
    startReplica(database, schema, third),
  ]);
  try {
    const [a] = servers;
    const id = await a.session();
    const answer = await askWithTools(a, id);
    assert.is(callIDsOf(answer).length, 2, `the turn waits for two results: ${JSON.stringify(answer.info)}`);
    await body({ servers, id, results: callIDsOf(answer).map((callID) => ({ callID, output: 'rain' })) });
  } finally {
    await Promise.all(servers.map((server) => server.leave().catch(() => {})));
    await dropSchema(database, schema);
  }
};
const answersAt = async (server: Replica, id: string) => answersIn(await messagesOf(server, id));
const says = async (server: Replica, id: string, text: string): Promise<boolean> => {
  const last = (await answersAt(server, id)).at(-1);
  return last !== undefined && textOf(last) === text && last.info.time.completed !== undefined;
};

describe('client tools at several servers', (check) => {
  check('go on at any server once the one that called them is gone, and one of equal results counts', () =>
    withWaiting([{}, { scripts: [replying('done')] }, { scripts: [replying('done')] }], async (given) => {
      const { servers, id, results } = given;
      const [a, b, c] = servers;
      await a.vanish();
      const taken = await Promise.all([b, c, b, c].map((server) => giveResults(server, id, results)));
      assert.equal(taken.flatMap(({ accepted }) => accepted).sort(), results.map(({ callID }) => callID).sort());
      await until(() => says(b, id, 'done'));
      assert.is(b.asked.length + c.asked.length, 1);
      assert.equal(
        callsOf((await answersAt(c, id))[0]!).map(({ state }) => state.status),
        ['completed', 'completed'],
      );
    }),
  );

  check('count one of two results that differ, and the turn goes on once', () =>
    withWaiting([{ scripts: [replying('done')] }, { scripts: [replying('done')] }, {}], async (given) => {
      const { servers, id, results } = given;
      const [a, b] = servers;
      const [one, two] = results;
      const taken = await Promise.all([
        giveResults(a, id, [one!]),
        giveResults(b, id, [two!]),
        giveResults(b, id, [{ ...one!, output: 'snow' }]),
      ]);
      assert.is(taken.flatMap(({ accepted }) => accepted).length, 2);
      await until(() => says(b, id, 'done'));
      assert.is(a.asked.length - 1 + b.asked.length, 1);
    }),
  );

  check('are owed their answer where the server that took the results is killed', () =>
    withWaiting(
      [{ scripts: [replying('done')] }, { scripts: [hanging] }, { scripts: [replying('done')] }],
      async (given) => {
        const { servers, id, results } = given;
        const [, b, c] = servers;
        await giveResults(b, id, results);
        await b.vanish();
        await until(async () => (await answersAt(c, id)).length === 2 && (await c.store.owed(id)).length === 0);
        const [first, last] = await answersAt(c, id);
        assert.equal(
          callsOf(first!).map(({ state }) => state.status),
          ['completed', 'completed'],
        );
        // Begun at the killed server: then it is ended, as any answer is.
        assert.ok(textOf(last!) === 'done' || last?.info.error?.name === 'MessageAbortedError');
      },
    ),
  );

  check('end with their time at a server that did not call them', () =>
    withWaiting([{ changes: { clientToolTimeoutMs: 1 } }, {}, {}], async ({ servers, id, results }) => {
      const [a, b] = servers;
      await a.vanish();
      assert.equal((await giveResults(b, id, results)).accepted, []);
      assert.is((await sessionAt(b, id)).awaitedCalls, undefined);
      const [answer] = await answersAt(b, id);
      assert.equal(callsOf(answer!).map(errorOf), Array(2).fill('The result of this call did not come in time.'));
    }),
  );
});

atEnd(database.stop);
