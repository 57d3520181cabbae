import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import {
  ask,
  asksOf,
  asksWhen,
  callsOf,
  eventsOf,
  isQuiet,
  outputOf,
  reply,
  textOf,
  until,
} from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, toolNamed } from '../../harness/world.ts';
import { PAY, paying, rule } from './world.ts';

describe('a question', (check) => {
  check('that is rejected ends the turn, and the other requests of its session are told as not made', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay'), toolNamed('look')],
      rules: [rule('ask')],
      scripts: [calling(PAY, { name: 'look', input: {} }), calling(PAY), replying('never')],
    });
    const [id, other] = [await world.session(), await world.session()];
    const answer = ask(world, id);
    await asksWhen(world, 2);
    const elsewhere = ask(world, other);
    await until(world, async () => (await asksOf(world)).some(({ sessionID }) => sessionID === other));
    const asked = await asksOf(world);
    await reply(
      world,
      asked.find(({ permission, sessionID }) => permission === 'pay' && sessionID === id),
      { reply: 'reject' },
    );
    const { info } = await answer;
    assert.is(info.finish, 'tool-calls');
    assert.is(info.error, undefined);
    assert.equal((await callsOf(world, id)).map(outputOf), [
      'The user rejected this call.',
      'The user rejected another call of this session, so this one was not made.',
    ]);
    assert.ok((await asksOf(world)).every(({ sessionID }) => sessionID === other));
    await world.post(`/session/${other}/abort`);
    await elsewhere;
  });

  check('that is rejected with words hands them to the model, which goes on', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'reject', message: 'Pay 4 instead' });
    assert.is(textOf(await answer), 'done');
    assert.equal(paid, []);
    assert.match(outputOf((await callsOf(world, id))[0]), 'Their message: Pay 4 instead');
  });

  check('that no one answers ends by itself as a rejection', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    await asksWhen(world, 1);
    await world.clock.advance(299_000);
    assert.is((await asksOf(world)).length, 1);
    await world.clock.advance(2000);
    assert.is((await answer).info.finish, 'tool-calls');
    assert.match(outputOf((await callsOf(world, id))[0]), 'was not answered in time');
    assert.is((await eventsOf(world, 'permission.replied'))[0]?.properties.reply, 'reject');
    assert.equal(paid, []);
    assert.ok(await isQuiet(world));
  });

  check('is gone with an abort, with the session and with the server, and reported to be over', async () => {
    for (const end of ['abort', 'delete', 'stop'] as const) {
      const { world, paid } = await paying('ask');
      const id = await world.session();
      const answer = ask(world, id);
      await asksWhen(world, 1);
      if (end === 'abort') await world.post(`/session/${id}/abort`);
      if (end === 'delete') assert.is((await world.call('DELETE', `/session/${id}`)).status, 200);
      if (end === 'stop') await world.server.stop();
      assert.is((await answer).info.error?.name, 'MessageAbortedError', end);
      // What was told of a session goes with it.
      const reported = (await eventsOf(world, 'permission.replied')).map(({ properties }) => properties.reply);
      assert.equal(reported, end === 'delete' ? [] : ['reject']);
      assert.equal(paid, []);
      if (end !== 'stop') assert.ok(await isQuiet(world));
      assert.is(world.clock.pending(), end === 'stop' ? 0 : 1, 'no timer is left but the one for pruning');
    }
  });

  check('cannot be answered twice, late, or when there never was one', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const path = `/permission/${asked?.id}/reply`;
    const both = await Promise.all([
      world.call('POST', path, { reply: 'once' }),
      world.call('POST', path, { reply: 'reject' }),
    ]);
    assert.equal(
      both.map(({ status }) => status),
      [200, 404],
    );
    assert.is(textOf(await answer), 'done');
    for (const late of [path, '/permission/per_000000000000aaaaaaaaaaaaaa/reply', '/permission/nonsense/reply']) {
      const response = await world.call('POST', late, { reply: 'once' });
      assert.is(response.status, 404);
      const { name, data } = (await response.json()) as { name: string; data: { message: string } };
      assert.is(name, 'NotFoundError');
      const expected = {
        [path]: 'The permission request was allowed once, so this reply has no effect',
        '/permission/nonsense/reply': 'this permission request was not found, or is no longer open',
      };
      const unknown = `permission request "${late.split('/')[2]}" was not found, or is no longer open`;
      assert.is(data.message, expected[late] ?? unknown);
    }
    const old = await world.call('POST', `/session/${id}/permissions/${asked?.id}`, { response: 'once' });
    assert.is(old.status, 404);
  });
});
