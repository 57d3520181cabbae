import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, messagesOf, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, hanging, prompt, replying } from '../../harness/world.ts';
import { refused } from './world.ts';

type World = Awaited<ReturnType<typeof createAgentWorld>>;

/** An id that a client with a clock of its own would choose. */
const idAt = ({ clock }: World, aheadMs: number): string =>
  `msg_${(((clock.now() + aheadMs) % 2 ** 36) * 0x1000).toString(16).padStart(12, '0')}ABCDEFGHIJKLMN`;

describe('an id that a client chooses for its message', (check) => {
  check('is the id of the message', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const messageID = idAt(world, 0);
    assert.is((await ask(world, id, 'x', { messageID })).info.parentID, messageID);
    assert.is((await messagesOf(world, id))[0]?.info.id, messageID);
  });

  check('is taken once only: in its session, in another one, and at the same time', async () => {
    const world = await createAgentWorld();
    const [id, other] = [await world.session({ title: 'Mine' }), await world.session({ title: 'Mine' })];
    const messageID = idAt(world, 5);
    const both = await Promise.all(
      [1, 2].map((count) => world.call('POST', `/session/${id}/message`, prompt(`${count}`, { messageID }))),
    );
    assert.equal(both.map(({ status }) => status).sort(), [200, 400]);
    await Promise.all(both.map((response) => response.text()));
    for (const session of [id, other]) {
      const again = await refused(world, ['POST', `/session/${session}/message`, prompt('x', { messageID })]);
      assert.is(again.status, 400);
      assert.match(again.data.message, 'not used yet');
    }
    assert.is(world.asked.length, 1);
  });

  check('is taken only when it is newer than all that the session has', async () => {
    const world = await createAgentWorld({ scripts: [replying('a'), hanging] });
    const [id, other] = [await world.session({ title: 'Mine' }), await world.session({ title: 'Mine' })];
    const { info } = await ask(world, id, 'first');
    const path = `/session/${id}/message`;
    for (const messageID of [idAt(world, -1), idAt(world, -10_000_000_000), `${info.parentID.slice(0, -1)}z`]) {
      const { status, data } = await refused(world, ['POST', path, prompt('x', { messageID })]);
      assert.equal([status, data.path], [400, 'messageID']);
      assert.match(data.message, "newer than the session's last message");
    }
    // Whoever prompts while an answer is under way has not seen it.
    await world.clock.advance(10);
    const messageID = idAt(world, 0);
    const second = ask(world, id, 'second', { messageID });
    await until(world, () => world.asked.length === 2);
    const running = (await messagesOf(world, id)).at(-1)?.info;
    assert.is(running?.role, 'assistant');
    const late = await refused(world, ['POST', path, prompt('x', { messageID: idAt(world, -1000) })]);
    assert.is(late.status, 400);
    const next = `${messageID.slice(0, -1)}z`;
    assert.ok(next < (running?.id ?? ''));
    const between = await world.call('POST', `/session/${id}/prompt_async`, prompt('x', { messageID: next }));
    assert.is(between.status, 204);
    await world.post(`/session/${id}/abort`);
    await second;
    // A session that has nothing yet has nothing to be newer than.
    assert.is(
      (
        await world.call(
          'POST',
          `/session/${other}/message`,
          prompt('x', { messageID: idAt(world, -9), noReply: true }),
        )
      ).status,
      200,
    );
  });

  check('is at most a day ahead of the clock', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const day = 86_400_000;
    for (const messageID of [idAt(world, day + 1), idAt(world, 300 * day)]) {
      const { status, data } = await refused(world, ['POST', `/session/${id}/message`, prompt('x', { messageID })]);
      assert.is(status, 400);
      assert.match(data.message, 'at most a day ahead');
    }
    assert.is((await ask(world, id, 'x', { messageID: idAt(world, day) })).info.parentID, idAt(world, day));
    // The time in an id has started again from zero, and the client's clock is an hour ahead of that.
    await world.clock.advance(2 ** 36 - (world.clock.now() % 2 ** 36) - 1000);
    const fresh = await world.session();
    const messageID = idAt(world, 3_600_000);
    assert.match(messageID, /^msg_000/);
    assert.is((await ask(world, fresh, 'x', { messageID })).info.parentID, messageID);
  });
});
