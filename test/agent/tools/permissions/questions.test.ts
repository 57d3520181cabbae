import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import {
  ask,
  asksOf,
  asksWhen,
  callsOf,
  eventsOf,
  outputOf,
  reply,
  textOf,
} from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, toolNamed } from '../../harness/world.ts';
import { PAY, paying, rule } from './world.ts';

describe('a question', (check) => {
  check('is listed and reported with what it is about, under an id of its own', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const [part] = await callsOf(world, id);
    assert.match(asked?.id ?? '', /^per_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    assert.equal(asked, {
      id: asked?.id ?? '',
      sessionID: id,
      permission: 'pay',
      patterns: ['*'],
      always: ['*'],
      alwaysMs: 3_600_000,
      metadata: { tool: 'pay', input: { amount: '5' } },
      tool: { messageID: part?.messageID ?? '', callID: 'call-1-0' },
      agent: 'build',
      argumentsHash: asked?.argumentsHash ?? '',
      time: { asked: asked?.time?.asked ?? 0, ends: (asked?.time?.asked ?? 0) + 300_000 },
      arguments: { amount: '5' },
      title: asked && 'title' in asked ? asked.title : '',
    });
    const { arguments: shown, title, ...stored } = { arguments: {}, title: '', ...asked };
    assert.equal((await eventsOf(world, 'permission.asked'))[0]?.properties, stored);
    assert.is(part?.state.status, 'pending');
    await reply(world, asked, { reply: 'once' });
    await answer;
  });

  check('that is answered with once lets this call run and asks for the next one', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const first = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    assert.is(await reply(world, asked, { reply: 'once' }), true);
    assert.is(textOf(await first), 'done');
    assert.equal((await eventsOf(world, 'permission.replied'))[0]?.properties, {
      sessionID: id,
      requestID: asked?.id ?? '',
      reply: 'once',
    });
    const second = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'once' });
    await second;
    assert.is(paid.length, 2);
  });

  check('that is answered with always is not asked again in its session, and is asked in any other', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const first = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await first;
    await ask(world, id);
    assert.is(paid.length, 2);
    assert.is((await eventsOf(world, 'permission.asked')).length, 1);
    const other = await world.session();
    const third = ask(world, other);
    const [asked] = await asksWhen(world, 1);
    assert.equal([asked?.sessionID, paid.length], [other, 2]);
    await reply(world, asked, { reply: 'once' });
    await third;
  });

  check('that is answered with always answers the same questions of its session, and no others', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay'), toolNamed('look')],
      rules: [rule('ask')],
      scripts: [calling(PAY, { ...PAY, input: { amount: '6' } }, { name: 'look', input: {} }), replying('done')],
    });
    const answer = ask(world, await world.session());
    const asked = await asksWhen(world, 3);
    await reply(
      world,
      asked.find(({ permission }) => permission === 'pay'),
      { reply: 'always' },
    );
    const [left] = await asksWhen(world, 1);
    assert.is(left?.permission, 'look');
    await reply(world, left, { reply: 'once' });
    await answer;
    const replies = (await eventsOf(world, 'permission.replied')).map(({ properties }) => properties.reply);
    assert.equal(replies.sort(), ['always', 'always', 'once']);
  });

  check('that is answered with always lifts no ban of another agent or session', async () => {
    const open = { ...toolNamed('open'), patternsFor: () => ['a.txt'] };
    const world = await createAgentWorld({
      tools: [open],
      rules: [rule('ask')],
      agents: [{ name: 'strict', rules: [rule('allow'), rule('deny', 'open', 'a.*')] }],
      scripts: [
        calling({ name: 'open', input: {} }),
        replying('done'),
        calling({ name: 'open', input: {} }),
        replying('no'),
      ],
    });
    const id = await world.session();
    const first = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await first;
    await ask(world, id, 'hello', { agent: 'strict' });
    assert.match(outputOf((await callsOf(world, id))[1]), 'denies this call');
  });

  check('can be answered on the route of older clients too, in its own session only', async () => {
    const { world } = await paying('ask');
    const [id, other] = [await world.session(), await world.session()];
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const wrong = await world.call('POST', `/session/${other}/permissions/${asked?.id}`, { response: 'once' });
    assert.is(wrong.status, 404);
    assert.is(await world.post(`/session/${id}/permissions/${asked?.id}`, { response: 'once' }), true);
    assert.is(textOf(await answer), 'done');
  });

  check('is not answered by a word that is none', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    for (const wrong of [{}, { reply: 'yes' }, { reply: 'reject', message: 7 }, [], 'once']) {
      assert.is((await world.call('POST', `/permission/${asked?.id}/reply`, wrong)).status, 400);
    }
    assert.is((await asksOf(world)).length, 1);
    await reply(world, asked, { reply: 'once' });
    await answer;
  });
});
