import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import {
  answersIn,
  ask,
  eventsOf,
  isQuiet,
  messagesOf,
  statuses,
  textOf,
  until,
} from '../../harness/permission-requests.ts';
import { createAgentWorld, hanging, replying, type Script } from '../../harness/world.ts';
import { lastReported } from './world.ts';

const echoing: Script = async function* (request, signal) {
  yield* replying(`re: ${lastReported(request)}`)(request, signal);
};

describe('sessions at work', (check) => {
  check('answer ten prompts at the same time in order, each its own', async () => {
    const world = await createAgentWorld({ scripts: [echoing] });
    const id = await world.session();
    const texts = Array.from({ length: 10 }, (_, index) => `question ${index}`);
    const answers = await Promise.all(texts.map((text) => ask(world, id, text)));
    assert.equal(
      answers.map(textOf),
      texts.map((text) => `re: ${text}`),
    );
    assert.equal(world.asked.map(lastReported), texts);
    assert.equal(
      world.asked.map(({ messages }) => messages.length),
      texts.map((_, index) => 2 * index + 1),
    );
    const reported = answersIn(await messagesOf(world, id));
    assert.equal(
      reported.map(({ info }) => info.id),
      answers.map(({ info }) => info.id),
    );
    await world.clock.advance(10);
    assert.equal(
      (await eventsOf(world, 'session.status')).map(({ properties }) => properties.status.type),
      [...texts.map(() => 'busy'), 'idle'],
    );
    assert.ok(await isQuiet(world));
  });

  check('do not mix: twenty at the same time', async () => {
    const world = await createAgentWorld({ scripts: [echoing] });
    const ids = await Promise.all(Array.from({ length: 20 }, () => world.session()));
    const answers = await Promise.all(ids.map((id) => ask(world, id, `to ${id}`)));
    assert.equal(
      answers.map(textOf),
      ids.map((id) => `re: to ${id}`),
    );
    assert.equal(
      answers.map(({ info }) => info.sessionID),
      ids,
    );
  });

  check('are listed while they work, and only then', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const [busy, idle] = [await world.session(), await world.session()];
    const answer = ask(world, busy);
    await until(world, () => world.asked.length === 1);
    assert.equal(await statuses(world), { [busy]: { type: 'busy' } });
    await world.post(`/session/${busy}/abort`);
    await answer;
    assert.equal(await statuses(world), {});
    assert.is(await world.post(`/session/${idle}/abort`), true);
  });

  check('go on when the client that asked has left', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Script = async function* (request, signal) {
      await gate.promise;
      yield* replying('all the same')(request, signal);
    };
    const world = await createAgentWorld({ scripts: [slow] });
    const id = await world.session();
    const response = await world.call('POST', `/session/${id}/message`, { parts: [{ type: 'text', text: 'hi' }] });
    await until(world, () => world.asked.length === 1);
    await response.body?.cancel();
    gate.resolve();
    await until(world, () => isQuiet(world));
    const [answer] = answersIn(await messagesOf(world, id));
    assert.is(answer === undefined ? '' : textOf(answer), 'all the same');
    assert.is(answer!.info.error, undefined);
  });
});
