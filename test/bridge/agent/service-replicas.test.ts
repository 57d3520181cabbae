import * as assert from 'uvu/assert';
import { type Replica, startReplica } from '../../agent/adapter/postgres/replicas.ts';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import type { WorldGiven } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import type { Call } from '../harness/agent-link.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, byPrompt, dictated } from '../harness/model-scripts.ts';
import { begins, quietTime, SHOWN, until, user } from '../harness/world.ts';
import { type ServersWorld, withAgents } from './servers-world.ts';

const polite = answering((words) => `re ${words}`);

/** A bridge before two agent servers that share a database. */
const withReplicas = async (
  given: WorldGiven,
  body: (all: ServersWorld, replicas: readonly [Replica, Replica]) => Promise<void>,
): Promise<void> => {
  const database = await startPostgres();
  try {
    const schema = database.freshSchema();
    const asked = { ...given, changes: { configViews: SHOWN } };
    const one = await startReplica(database, schema, asked);
    const other = await startReplica(database, schema, asked);
    await withAgents([one, other], (all) => body(all, [one, other]));
    await Promise.all([one, other].map((replica) => replica.leave().catch(() => {})));
  } finally {
    await database.stop();
  }
};
const promptCounts = ({ servers }: ServersWorld): readonly number[] => servers.map(({ link }) => begins(link).length);

describe('a bridge before two agent servers on one database', (check) => {
  check('streams a turn of one while it receives the events at the other, also when the stream moves', async () => {
    const model = dictated();
    await withReplicas({ scripts: [byPrompt({ go: model.script }, polite)] }, async (all) => {
      const { world, servers } = all;
      await world.chat({ messages: [user('hello')] });
      const stream = await openStream(world, { messages: [user('go')] });
      await model.begun;
      assert.equal(promptCounts(all), [1, 1]);
      model.addReply('One ');
      await stream.until('One ');
      servers[0].goAway();
      model.addReply('two ');
      await stream.until('two ');
      model.addReply('three');
      model.end();
      assert.is(await stream.rest(), 'One two three');
    });
  });

  check(
    'follows a turn over the other one when the connection of its prompt breaks, and sends no prompt again',
    async () => {
      const model = dictated();
      await withReplicas({ scripts: [model.script] }, async (all) => {
        const stream = await openStream(all.world, { messages: [user('go')] });
        await model.begun;
        model.addReply('One ');
        await stream.until('One ');
        // The other one reads what is stored, which is every 250 ms.
        await quietTime(300);
        model.addReply('and ');
        await stream.until('and ');
        all.servers[0].goAway();
        const isOpen = ({ path, endedAt }: Call) => path.endsWith('/output') && endedAt !== undefined;
        await until(() => all.servers[1].link.calls.some(isOpen));
        model.addReply('two ');
        await stream.until('two ');
        model.end();
        assert.is(await stream.rest(), 'One and two ');
        assert.equal(promptCounts(all), [1, 0]);
        assert.is(
          all.servers.reduce((sum, { agent }) => sum + agent.asked.length, 0),
          1,
        );
      });
    },
  );

  check('says that a turn was interrupted when its server is gone for good, and serves the next', async () => {
    const model = dictated();
    await withReplicas({ scripts: [byPrompt({ go: model.script }, polite)] }, async (all, [first]) => {
      const stream = await openStream(all.world, { messages: [user('go')] });
      await model.begun;
      model.addReply('One ');
      await stream.until('One ');
      all.servers[0].goAway();
      await first.vanish();
      await stream.rest();
      assert.match(stream.data.join(''), 'agent_interrupted');
      assert.equal(promptCounts(all), [1, 0]);
      assert.is((await all.world.chat({ messages: [user('next')] })).text, 're next');
    });
  });
});
