import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { calling, createAgentWorld, outcome, prompt, replying, toolNamed } from '../../harness/world.ts';
import { createGate, LIMIT_BYTES, memory, sessionWithText } from './world.ts';

describe('the messages that turns hold', (check) => {
  check('have a budget in common: a turn waits until those before it have their answers', async () => {
    const gate = createGate();
    const world = await createAgentWorld({ scripts: Array(3).fill(gate.script), changes: { memory } });
    const ids = [await sessionWithText(world), await sessionWithText(world), await sessionWithText(world)];
    const answers = ids.map(async (id) => {
      const response = await world.call('POST', `/session/${id}/message`, prompt('go on'));
      return { status: response.status, text: await response.text() };
    });
    for (let call = 1; call <= 3; call += 1) {
      await world.clock.advance(100);
      assert.is(gate.calls(), 1);
      gate.open();
    }
    await world.clock.advance(1000);
    for (const { status, text: body } of await Promise.all(answers)) {
      assert.is(status, 200);
      assert.match(body, /"done"/);
    }
  });

  check('of a large session that waits do not keep small ones and their bodies from being answered', async () => {
    const world = await createAgentWorld({ scripts: [createGate().script, replying('small')], changes: { memory } });
    const begin = async (id: string, text = 'go on'): Promise<void> =>
      assert.is((await world.call('POST', `/session/${id}/prompt_async`, prompt(text))).status, 204);
    const [held, waiting, small] = [await sessionWithText(world), await sessionWithText(world), await world.session()];
    await begin(held);
    await world.clock.advance(100);
    await begin(waiting);
    await world.clock.advance(100);
    await begin(small, 'y'.repeat(10_000));
    await world.clock.advance(1000);
    assert.match(JSON.stringify(await world.get(`/session/${small}/message`)), /"small"/);
    assert.equal(Object.keys(Object(await world.get('/session/status'))).sort(), [held, waiting].sort());
  });

  check('are taken before a summary reads them', async () => {
    const gate = createGate();
    const world = await createAgentWorld({ scripts: [gate.script, replying('in short')], changes: { memory } });
    const [held, summed] = [await sessionWithText(world), await sessionWithText(world)];
    assert.is((await world.call('POST', `/session/${held}/prompt_async`, prompt('go on'))).status, 204);
    await world.clock.advance(100);
    const summary = world.post(`/session/${summed}/summarize`, { providerID: 'demo', modelID: 'main' });
    await world.clock.advance(100);
    assert.is(world.asked.length, 1);
    gate.open();
    await world.clock.advance(1000);
    assert.is(await summary, true);
  });

  check('that are too many for a summary end it in words', async () => {
    const world = await createAgentWorld({ changes: { memory } });
    const id = await sessionWithText(world);
    const { bytes = 0 } = (await world.store.messageOutlines(id))[0] ?? {};
    const [stored] = await world.store.messages(id);
    assert.ok(stored?.parts[0]?.type === 'text');
    const part = {
      ...stored.parts[0],
      id: `${stored.parts[0].id.slice(0, -1)}~`,
      text: 'z'.repeat(LIMIT_BYTES - bytes),
    };
    await world.store.commit([{ kind: 'part', part }], []);
    assert.is(await world.post(`/session/${id}/summarize`, { providerID: 'demo', modelID: 'main' }), false);
    assert.match(JSON.stringify(await world.get(`/session/${id}/message`)), /"The session holds \d+ bytes, and this/);
    assert.equal([world.asked.length, world.logged.filter((line) => line.includes('"bug"'))], [0, []]);
  });

  check('end the turn of a session that has more than all of them may be, in words', async () => {
    const tool = toolNamed('fill', async () => outcome('z'.repeat(30_000)));
    const fill = calling({ name: 'fill', input: {} });
    const world = await createAgentWorld({ scripts: [fill, replying('done')], tools: [tool], changes: { memory } });
    const id = await world.session();
    const answer = JSON.stringify(await world.post(`/session/${id}/message`, prompt('x'.repeat(80_000))));
    assert.match(
      answer,
      /"The session holds \d+ bytes, and this server can read no more than 100000. Begin a new session"/,
    );
    assert.is(world.asked.length, 1);
    assert.not.match(world.logged.join(''), /"bug"/);
  });

  check('include the files of tools only while the session has capacity for them', async () => {
    const url = `data:image/png;base64,${'A'.repeat(20_000)}`;
    const shot = toolNamed('shot', async () => ({ ...outcome(''), files: [{ mime: 'image/png', url }] }));
    const shots = calling({ name: 'shot', input: { n: 1 } }, { name: 'shot', input: { n: 2 } });
    const world = await createAgentWorld({
      scripts: [shots, shots, shots, replying('done')],
      tools: [shot],
      changes: { memory },
    });
    const id = await world.session();
    assert.match(JSON.stringify(await world.post(`/session/${id}/message`, prompt('look'))), /"done"/);
    const stored = JSON.stringify(await world.get(`/session/${id}/message`));
    assert.is(stored.split(url).length - 1, 3);
    const notes = stored.match(/\[image\/png, 16 kB: the session has no capacity for it\]/g) ?? [];
    assert.is(notes.length, 3);
  });

  check('are given back when a turn that waits for them is aborted', async () => {
    const gate = createGate();
    const world = await createAgentWorld({ scripts: Array(2).fill(gate.script), changes: { memory } });
    const ids = [await sessionWithText(world), await sessionWithText(world), await sessionWithText(world)] as const;
    const [first, second, third] = ids;
    const begin = (id: string) => world.call('POST', `/session/${id}/prompt_async`, prompt('go on'));
    assert.is((await begin(first)).status, 204);
    await world.clock.advance(100);
    assert.is((await begin(second)).status, 204);
    assert.is((await begin(third)).status, 204);
    await world.clock.advance(100);
    assert.is((await world.call('POST', `/session/${second}/abort`)).status, 200);
    assert.is(gate.calls(), 1);
    gate.open();
    await world.clock.advance(100);
    assert.is(gate.calls(), 1);
    gate.open();
    await world.clock.advance(100);
    const status = await (await world.call('GET', '/session/status')).json();
    assert.equal(status, {});
  });

  check('do not keep a reply to a permission request out when all is taken', async () => {
    const gate = createGate();
    const world = await createAgentWorld({ scripts: [gate.script], changes: { memory } });
    const id = await world.session();
    assert.is((await world.call('POST', `/session/${id}/prompt_async`, prompt('x'.repeat(99_000)))).status, 204);
    await world.clock.advance(100);
    assert.is(gate.calls(), 1);
    const full = await world.call('POST', `/session/${await world.session()}/message`, prompt('x'.repeat(60_000)));
    assert.is(full.status, 503);
    assert.is(full.headers.get('retry-after'), '1');
    const reply = await world.call('POST', '/permission/per_00000000000000000000000000/reply', { reply: 'once' });
    assert.is(reply.status, 404);
    gate.open();
    await world.clock.advance(100);
  });
});
