import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import { clientOf, failureOf, JOB, statusOf, untilStatus, withJob } from '../harness/background-world.ts';
import { aborts, sessionsMade, until } from '../harness/world.ts';

describe('a response in the background whose bridge has ended', (check) => {
  check('is found when its bridge was killed: while it runs, and when it has ended', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      model.addReply('Once upon ');
      const next = await world.restartKilled();
      const later = clientOf(next);
      await until(async () => (await later.responses.retrieve(id)).output_text === 'Once upon ');
      assert.is(await statusOf(later, id), 'in_progress');
      model.addReply('a time.');
      model.end();
      await untilStatus(later, id, 'completed');
      if (thorough(0, 1) === 0) return;
      // Another bridge waits two seconds before it takes a conversation over.
      const more = await later.responses.create({ model: 'demo/main', input: 'more', previous_response_id: id });
      assert.is(more.output_text, 'Well.');
      const whole = await later.responses.retrieve(id);
      assert.equal([whole.output_text, whole.background], ['Once upon a time.', true]);
      assert.is(sessionsMade(world).length + sessionsMade(next).length, 1);
    }),
  );

  check('goes on when its bridge is stopped, whatever the bridge does with other answers', () =>
    withJob({ settings: { onDisconnect: { kind: 'abort' } } }, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const later = clientOf(await world.restart());
      model.addReply('The end.');
      model.end();
      await untilStatus(later, id, 'completed');
      assert.is((await later.responses.retrieve(id)).output_text, 'The end.');
      assert.is(aborts(world).length, 0);
    }),
  );

  check('is not that of an equal request at the next bridge, but that of its retry', () =>
    withJob({ settings: { onDisconnect: { kind: 'grace', ms: 10_000 } } }, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const next = await world.restartKilled();
      const equal = await clientOf(next).responses.create(JOB);
      assert.is.not(equal.id, id);
      const last = clientOf(await next.restartKilled());
      const again = await last.responses.create(JOB, { headers: { 'x-stainless-retry-count': '1' } });
      assert.ok([id, equal.id].includes(again.id));
    }),
  );

  check('that a killed bridge has left is deleted when it has ended', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const later = clientOf(await world.restartKilled());
      assert.is((await failureOf(later.responses.delete(id))).status, 409);
      model.end();
      await untilStatus(later, id, 'completed');
      await later.responses.delete(id);
      assert.is((await failureOf(later.responses.retrieve(id))).status, 404);
    }),
  );

  check('is failed, and not cancelled, when the agent server was stopped or killed during it', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      model.addReply('Once ');
      await until(async () => (await client.responses.retrieve(id)).output_text === 'Once ');
      world.killAgent();
      await world.startAgent({ scripts: [] });
      await untilStatus(client, id, 'failed');
      const { error, output_text } = await client.responses.retrieve(id);
      assert.equal([error?.code, output_text], ['agent_interrupted', 'Once ']);
      assert.is((await client.responses.cancel(id)).status, 'failed');
    }),
  );

  check('is cancelled at another bridge than the one that began it', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const next = await world.restartKilled();
      assert.is((await clientOf(next).responses.cancel(id)).status, 'cancelled');
      await model.left;
    }),
  );
});
