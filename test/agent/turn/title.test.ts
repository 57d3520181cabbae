import * as assert from 'uvu/assert';
import { type ChatModel, ModelError } from '../../../src/agent/model/types.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { isDefaultTitle } from '../../../src/agent/session/sessions.ts';
import { parseTitle } from '../../../src/agent/turn/title.ts';
import { describe } from '../../check.ts';
import { ask, until } from '../harness/permission-requests.ts';
import { createAgentWorld, failing, hanging, replying, type Script } from '../harness/world.ts';

const titleOf = async (world: Awaited<ReturnType<typeof createAgentWorld>>, id: string): Promise<string> => {
  await world.clock.advance(100);
  return ((await world.get(`/session/${id}`)) as Session).title;
};
/** A model that answers, and names sessions in its own way. */
const naming =
  (script: Script): ChatModel =>
  (request, signal) =>
    (request.system.includes('title') ? script : replying('hello'))(request, signal);

describe('the title of a session', (check) => {
  check('is made once, after the first answer, from what was asked', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await ask(world, id, 'how many beans?');
    assert.is(await titleOf(world, id), 'A fine title');
    await ask(world, id, 'and now?');
    assert.is(await titleOf(world, id), 'A fine title');
    assert.is(world.titles.length, 1);
    assert.equal(world.titles[0]?.messages, [{ role: 'user', content: [{ kind: 'text', text: 'how many beans?' }] }]);
    assert.equal(world.titles[0]?.tools, []);
  });

  check('is asked for from anyone who answers, and from no one elsewhere', async () => {
    const elsewhere = { providerID: 'onprem', modelID: 'private' };
    const asked: unknown[] = [];
    const { catalog } = await createAgentWorld({ models: [elsewhere] });
    const world = await createAgentWorld({
      changes: {
        catalog: {
          ...catalog,
          titlerFor(ref) {
            asked.push(ref);
            return catalog.titlerFor(ref);
          },
        },
      },
    });
    await ask(world, await world.session({ model: 'onprem/private' }), 'a secret');
    await world.clock.advance(100);
    assert.equal(asked, [elsewhere]);
    assert.is(world.titles.length, 1);
  });

  check('is asked for in the words of the configuration', async () => {
    const words = 'Generate a title, in verse';
    const world = await createAgentWorld({ titler: { prompt: words } });
    await ask(world, await world.session());
    await world.clock.advance(100);
    assert.equal(
      world.titles.map(({ system }) => system),
      [words],
    );
  });

  check('stays as it was where no one is there to name it', async () => {
    const world = await createAgentWorld({ titler: null });
    const id = await world.session();
    await ask(world, id);
    assert.ok(isDefaultTitle(await titleOf(world, id)));
    assert.is(world.titles.length, 0);
  });

  check('that somebody chose stays', async () => {
    const world = await createAgentWorld();
    const id = await world.session({ title: 'Mine' });
    await ask(world, id);
    assert.is(await titleOf(world, id), 'Mine');
    assert.is(world.titles.length, 0);
  });

  check('that somebody chooses while it is being made stays', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Script = async function* (request, signal) {
      await gate.promise;
      yield* replying('Too late')(request, signal);
    };
    const world = await createAgentWorld({ changes: { model: naming(slow) } });
    const id = await world.session();
    await ask(world, id);
    await world.call('PATCH', `/session/${id}`, { title: 'Mine' });
    gate.resolve();
    assert.is(await titleOf(world, id), 'Mine');
  });

  check('is not made for a child, nor after a failure', async () => {
    const world = await createAgentWorld({ scripts: [replying('hi'), failing(new ModelError('auth', 'no'))] });
    const child = await world.session({ parentID: await world.session() });
    await ask(world, child);
    assert.ok(isDefaultTitle(await titleOf(world, child)));
    const id = await world.session();
    await ask(world, id);
    assert.ok(isDefaultTitle(await titleOf(world, id)));
    assert.is(world.titles.length, 0);
  });

  check('that cannot be made is only logged', async () => {
    const broken = failing(new ModelError('auth', 'secret'));
    const world = await createAgentWorld({ changes: { model: naming(broken) } });
    const id = await world.session();
    assert.is((await ask(world, id)).info.error, undefined);
    assert.ok(isDefaultTitle(await titleOf(world, id)));
    assert.ok(world.logged.some((line) => line.includes('"trouble"') && line.includes('title')));
    assert.not.ok(world.logged.some((line) => line.includes('secret')));
  });

  check('is waited for no longer than half a minute, and not at all by a server that stops', async () => {
    for (const isStopping of [true, false]) {
      const world = await createAgentWorld({ changes: { model: naming(hanging) } });
      await ask(world, await world.session());
      await world.clock.advance(100);
      if (isStopping) await world.server.stop();
      else await world.clock.advance(30_000);
      await until(world, () => world.logged.some((line) => line.includes('"trouble"')));
      assert.is(world.clock.pending(), isStopping ? 0 : 1);
    }
  });
});

describe('the title in the output of a model', (check) => {
  check('is its first line that is one, without thoughts', () => {
    assert.is(parseTitle('Beans'), 'Beans');
    assert.is(parseTitle('\n  Beans  \nand more'), 'Beans');
    assert.is(parseTitle('<think>beans, they\nsay</think>\n\nCounting beans'), 'Counting beans');
    assert.is(parseTitle('they ask for beans\n</think>\nCounting beans'), 'Counting beans');
    assert.is(parseTitle('<THINK>x</THINK>Counting'), 'Counting');
    assert.is(parseTitle('Counting <think>and then'), 'Counting');
    for (const none of ['', ' \n ', '<think>', '<think>only thoughts', '<think>x</think>'])
      assert.is(parseTitle(none), undefined);
  });

  check('is cut to a hundred characters, and to whole ones', () => {
    assert.is(parseTitle('x'.repeat(500)), 'x'.repeat(100));
    assert.is([...(parseTitle('😀'.repeat(200)) ?? '')].length, 100);
    assert.ok(parseTitle('😀'.repeat(200))?.isWellFormed());
  });
});
