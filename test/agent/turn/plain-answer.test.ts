import * as assert from 'uvu/assert';
import { ModelError, type ModelEvent } from '../../../src/agent/model/types.ts';

import { describe } from '../../check.ts';
import { ask, eventsOf, messagesOf, textOf } from '../harness/permission-requests.ts';
import { createAgentWorld, failing, replying, type Script } from '../harness/world.ts';

const ending = (finish: Extract<ModelEvent, { kind: 'finished' }>['finish'], text = 'half'): Script =>
  async function* () {
    if (text !== '') yield { kind: 'text', delta: text };
    const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 };
    yield { kind: 'finished', finish, tokens };
  };

describe('a plain answer', (check) => {
  check('has every field of the specification', async () => {
    const world = await createAgentWorld({ scripts: [replying('hello ', 'you')] });
    const id = await world.session({ model: 'demo/main' });
    const { info, parts } = await ask(world, id);
    const [user] = await messagesOf(world, id);
    assert.match(info.id, /^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    assert.is(info.sessionID, id);
    assert.is(info.parentID, user?.info.id);
    assert.is(info.role, 'assistant');
    assert.is(info.mode, 'build');
    assert.is(info.agent, 'build');
    assert.is(info.modelID, 'main');
    assert.is(info.providerID, 'demo');
    assert.equal(info.path, { cwd: '/srv/desk', root: '/srv/desk' });
    assert.equal(info.time, { created: world.clock.now(), completed: world.clock.now() });
    assert.is(info.cost, 0.00002);
    assert.equal(info.tokens, { total: 15, input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 } });
    assert.is(info.finish, 'stop');
    assert.is(info.error, undefined);
    assert.equal(
      parts.map(({ type }) => type),
      ['step-start', 'text', 'step-finish'],
    );
    for (const part of parts) {
      assert.match(part.id, /^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
      assert.is(part.sessionID, id);
      assert.is(part.messageID, info.id);
    }
    const [, text, finish] = parts;
    assert.is(textOf({ parts }), 'hello you');
    assert.equal(text?.type === 'text' && text.time, { start: world.clock.now(), end: world.clock.now() });
    assert.equal(finish?.type === 'step-finish' && [finish.reason, finish.cost, finish.tokens], [
      'stop',
      info.cost,
      info.tokens,
    ]);
  });

  check('is what the message route shows afterwards', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const answer = await ask(world, id);
    assert.equal(await world.get(`/session/${id}/message/${answer.info.id}`), answer);
    assert.equal((await messagesOf(world, id)).at(-1), answer);
  });

  check('keeps a think section in the text as it came', async () => {
    const world = await createAgentWorld({ scripts: [replying('<think>hm</think>', 'yes')] });
    assert.is(textOf(await ask(world, await world.session())), '<think>hm</think>yes');
  });

  check('makes reasoning a part of its own, before the text', async () => {
    const script: Script = async function* (request, signal) {
      yield { kind: 'reasoning', delta: 'let me ' };
      yield { kind: 'reasoning', delta: 'see' };
      yield* replying('done')(request, signal);
    };
    const world = await createAgentWorld({ scripts: [script] });
    const { parts } = await ask(world, await world.session());
    assert.equal(
      parts.map((part) => [part.type, 'text' in part ? part.text : '']),
      [
        ['step-start', ''],
        ['reasoning', 'let me see'],
        ['text', 'done'],
        ['step-finish', ''],
      ],
    );
  });

  check('carries the words of the session and of the prompt to the model', async () => {
    const world = await createAgentWorld();
    await ask(world, await world.session(), 'what now?', { system: 'Be brief.' });
    assert.is(world.asked[0]?.system, 'You build.\n\nBe brief.');
    assert.equal(world.asked[0]?.messages, [{ role: 'user', content: [{ kind: 'text', text: 'what now?' }] }]);
  });

  check('hands files on as they are', async () => {
    const world = await createAgentWorld();
    const file = { type: 'file', mime: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AAAA' };
    await world.post(`/session/${await world.session()}/message`, { parts: [{ type: 'text', text: 'see' }, file] });
    assert.equal(world.asked[0]?.messages[0]?.role === 'user' && world.asked[0].messages[0].content[1], {
      kind: 'file',
      mime: 'image/png',
      filename: 'a.png',
      url: 'data:image/png;base64,AAAA',
    });
  });

  check('may be cut by its length, and says so', async () => {
    const world = await createAgentWorld({ scripts: [ending('length')] });
    const { info, parts } = await ask(world, await world.session());
    assert.is(info.finish, 'length');
    assert.is(info.error, undefined);
    assert.is(textOf({ parts }), 'half');
  });

  check('may be stopped by a content filter in the middle, or refused by one', async () => {
    const stopped = await createAgentWorld({ scripts: [ending('content-filter')] });
    assert.is((await ask(stopped, await stopped.session())).info.finish, 'content-filter');
    const refused = await createAgentWorld({ scripts: [failing(new ModelError('content-filter', 'Filtered'))] });
    const { info } = await ask(refused, await refused.session());
    assert.equal(info.error, { name: 'ContentFilterError', data: { message: 'Filtered' } });
    assert.is(info.finish, 'error');
  });

  check('may be empty', async () => {
    const world = await createAgentWorld({ scripts: [ending('stop', '')] });
    const { info, parts } = await ask(world, await world.session());
    assert.is(info.finish, 'stop');
    assert.equal(
      parts.map(({ type }) => type),
      ['step-start', 'step-finish'],
    );
  });

  check('reports that there was a bug, and logs its name but not its text', async () => {
    const world = await createAgentWorld({ scripts: [failing(new TypeError('secret words'))] });
    const { info } = await ask(world, await world.session());
    assert.equal(info.error, {
      name: 'UnknownError',
      data: { message: 'The server failed in a way it should not' },
    });
    assert.ok(world.logged.some((line) => line.includes('"bug"') && line.includes('TypeError')));
    assert.not.ok(world.logged.some((line) => line.includes('secret words')));
  });

  check('is not waited for when none is wanted', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const reported = (await world.post(`/session/${id}/message`, {
      parts: [{ type: 'text', text: 'note this' }],
      noReply: true,
    })) as { info: { role: string } };
    assert.is(reported.info.role, 'user');
    assert.is(world.asked.length, 0);
    await ask(world, id, 'and now?');
    assert.equal(
      world.asked[0]?.messages.map((outputText) => outputText.role === 'user' && outputText.content[0]),
      [
        { kind: 'text', text: 'note this' },
        { kind: 'text', text: 'and now?' },
      ],
    );
  });

  check('comes by itself after an asynchronous prompt', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const response = await world.call('POST', `/session/${id}/prompt_async`, { parts: [{ type: 'text', text: 'hi' }] });
    assert.is(response.status, 204);
    assert.is(await response.text(), '');
    await world.clock.advance(100);
    assert.is((await messagesOf(world, id)).length, 2);
    assert.is((await eventsOf(world, 'session.idle')).length, 1);
  });

  check('is not begun by an asynchronous prompt that wants none', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const note = { parts: [{ type: 'text', text: 'hi' }], noReply: true };
    assert.is((await world.call('POST', `/session/${id}/prompt_async`, note)).status, 204);
    await world.clock.advance(100);
    assert.is((await messagesOf(world, id)).length, 1);
  });
});
