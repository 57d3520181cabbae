import * as assert from 'uvu/assert';
import type { Session } from '../../src/agent/session.ts';
import { describe } from '../check.ts';
import { createAgentWorld, prompt } from './agent-world.ts';
import { ask, contentsOf, messagesOf } from './asking.ts';

type Refused = { readonly name: string; readonly data: { readonly message: string; readonly path?: string | null } };
const ID = 'msg_0123456789abABCDEFGHIJKLMN';

/** Tries a request that must be refused, and that the store must not show. */
const refused = async (
  world: Awaited<ReturnType<typeof createAgentWorld>>,
  [method, path, body]: readonly [method: string, path: string, body: unknown],
): Promise<{ readonly status: number } & Refused> => {
  const before = JSON.stringify(await contentsOf(world.store));
  const response = await world.call(method, path, body);
  const told = (await response.json()) as Refused;
  assert.is(JSON.stringify(await contentsOf(world.store)), before, `${method} ${path} left something behind`);
  return { status: response.status, ...told };
};

describe('who answers a prompt', (check) => {
  check('is remembered by the session: the agent and the model that were asked for last', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'plan', prompt: 'You plan.' }] });
    const id = await world.session();
    assert.is((await ask(world, id, 'a', { agent: 'plan', model: 'demo/main' })).info.agent, 'plan');
    assert.is((await ask(world, id)).info.agent, 'plan');
    assert.is(world.asked[1]?.system, 'You plan.');
    const session = (await world.get(`/session/${id}`)) as Session;
    assert.is(session.agent, 'plan');
    assert.equal(session.model, { providerID: 'demo', id: 'main' });
    assert.is((await ask(world, id, 'b', { agent: 'build' })).info.agent, 'build');
  });

  check('is the one that the session was made with', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'plan' }] });
    const { info } = await ask(world, await world.session({ agent: 'plan', model: 'demo/main' }));
    assert.equal([info.agent, info.providerID, info.modelID], ['plan', 'demo', 'main']);
  });

  check('takes the model as the wire has it, and a variant beside it', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const model = { providerID: 'demo', modelID: 'main' };
    assert.is((await ask(world, id, 'a', { model, variant: 'high' })).info.variant, 'high');
    assert.equal(((await world.get(`/session/${id}`)) as Session).model, {
      providerID: 'demo',
      id: 'main',
      variant: 'high',
    });
    assert.is((await ask(world, id)).info.variant, 'high');
    assert.is((await ask(world, id, 'b', { model })).info.variant, undefined);
  });
});

describe('a prompt that cannot be answered', (check) => {
  check('is refused before anything is stored, and told what is wrong where', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'hidden', answersPrompts: false }] });
    const id = await world.session();
    const path = `/session/${id}/message`;
    const parts = [{ type: 'text', text: 'hi' }];
    const cases: readonly (readonly [unknown, string, RegExp])[] = [
      [prompt('x', { agent: 'nobody' }), 'agent', /no such agent\. Agents are: build$/],
      [prompt('x', { agent: 'hidden' }), 'agent', /no such agent/],
      [prompt('x', { model: 'demo/mian' }), 'model', /nearest is demo\/main/],
      [prompt('x', { model: { providerID: 'other', modelID: 'main' } }), 'model', /no such model/],
      [prompt('x', { model: 'nonsense' }), 'model', /expected a model as "provider\/key"/],
      [prompt('x', { model: 7 }), 'model', /expected a model/],
      [prompt('x', { messageID: 'bad' }), 'messageID', /expected msg_/],
      [prompt('x', { messageID: 'ses_0123456789abABCDEFGHIJKLMN' }), 'messageID', /expected msg_/],
      [{ parts: [] }, 'parts', /parts: expected/],
      [{}, 'parts', /parts: expected it to be there/],
      [{ parts: [{ type: 'text', text: 7 }] }, 'parts[0].text', /expected string/],
      [{ parts: [{ text: 'x' }] }, 'parts[0].type', /expected text or file/],
      [{ parts, model: { providerID: 'demo' } }, 'model', /expected a model/],
      [{ parts: 'hi' }, 'parts', /parts: expected/],
      [{ parts: [{ type: 'agent', name: 'x' }] }, 'parts[0].type', /expected text or file/],
      [{ parts: [...parts, { type: 'text' }] }, 'parts[1].text', /parts\[1\]\.text: expected it to be there/],
      [{ parts: [{ type: 'file', mime: 'text/plain', url: 'file:///etc/passwd' }] }, 'parts[0].url', /data: URL/],
      [{ parts: [{ type: 'file', mime: 'text/plain', url: 'https://elsewhere' }] }, 'parts[0].url', /data: URL/],
      [{ parts, tools: { pay: 'yes' } }, 'tools.pay', /expected boolean/],
      [{ parts, noReply: 1 }, 'noReply', /expected boolean/],
      [{ parts, system: ['x'] }, 'system', /expected string/],
    ];
    for (const route of [path, `/session/${id}/prompt_async`]) {
      for (const [body, where, what] of cases) {
        const { status, name, data } = await refused(world, ['POST', route, body]);
        assert.is(status, 400, JSON.stringify(body));
        assert.is(name, 'BadRequest');
        assert.is(data.path, where);
        assert.match(data.message, what);
      }
    }
    assert.is(world.asked.length, 0);
  });

  check('is refused for a session that there is not', async () => {
    const world = await createAgentWorld();
    for (const id of ['ses_000000000000aaaaaaaaaaaaaa', 'nope', '%00', '..']) {
      for (const route of ['message', 'prompt_async']) {
        const { status, name, data } = await refused(world, ['POST', `/session/${id}/${route}`, prompt('x')]);
        if (id === '..') continue;
        assert.equal([status, name, data], [404, 'NotFoundError', { message: 'Session not found' }]);
      }
    }
  });

  check('never quotes what was sent', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const secret = 'sk-very-secret';
    for (const body of [
      prompt('x', { agent: secret }),
      prompt('x', { model: `${secret}/${secret}` }),
      prompt('x', { messageID: secret }),
      { parts: [{ type: secret }] },
      { parts: [{ type: 'file', mime: 'a', url: secret }] },
      secret,
    ]) {
      const { data } = await refused(world, ['POST', `/session/${id}/message`, body]);
      assert.not.match(JSON.stringify(data), secret);
    }
    assert.not.ok(world.logged.some((line) => line.includes(secret)));
  });

  check('leaves a session as it was, so that the next one is answered', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await world.call('POST', `/session/${id}/message`, prompt('x', { model: 'demo/gone' }));
    assert.is((await ask(world, id)).info.error, undefined);
  });
});

describe('a session that cannot be made', (check) => {
  check('is refused before anything is stored, and told what is wrong where', async () => {
    const world = await createAgentWorld();
    for (const [body, where] of [
      [{ model: 'demo/gone' }, 'model'],
      [{ model: { providerID: 'demo' } }, 'model'],
      [{ agent: 'nobody' }, 'agent'],
      [{ parentID: 'ses_000000000000aaaaaaaaaaaaaa' }, 'parentID'],
      [{ title: 7 }, 'title'],
      [{ title: 'x'.repeat(501) }, 'title'],
      [{ permission: [{ permission: 'a', pattern: '*', action: 'maybe' }] }, 'permission[0].action'],
      [{ metadata: 'x' }, 'metadata'],
    ] as const) {
      const { status, name, data } = await refused(world, ['POST', '/session', body]);
      assert.equal([status, name, data.path], [400, 'BadRequest', where], JSON.stringify(body));
    }
    const list = await refused(world, ['POST', '/session', []]);
    assert.equal([list.status, list.data.path], [400, null]);
  });
});

describe('an id that a client chooses for its message', (check) => {
  check('is the id of the message', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    assert.is((await ask(world, id, 'x', { messageID: ID })).info.parentID, ID);
    assert.is((await messagesOf(world, id))[0]?.info.id, ID);
  });

  check('is taken once only: in its session, in another one, and at the same time', async () => {
    const world = await createAgentWorld();
    const [id, other] = [await world.session({ title: 'Mine' }), await world.session({ title: 'Mine' })];
    const both = await Promise.all(
      [1, 2].map((count) => world.call('POST', `/session/${id}/message`, prompt(`${count}`, { messageID: ID }))),
    );
    assert.equal(both.map(({ status }) => status).sort(), [200, 400]);
    await Promise.all(both.map((response) => response.text()));
    for (const session of [id, other]) {
      const again = await refused(world, ['POST', `/session/${session}/message`, prompt('x', { messageID: ID })]);
      assert.is(again.status, 400);
      assert.match(again.data.message, 'not used yet');
    }
    assert.is(world.asked.length, 1);
  });

  check('may come from a clock that is wrong: the model is told all the same', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await ask(world, id, 'first');
    await ask(world, id, 'second', { messageID: 'msg_000000000001aaaaaaaaaaaaaa' });
    await ask(world, id, 'third', { messageID: 'msg_ffffffffffffaaaaaaaaaaaaaa' });
    await ask(world, id, 'fourth');
    assert.equal(
      world.asked.map(({ messages }) => messages.length),
      [1, 3, 5, 7],
    );
    for (const { messages } of world.asked) assert.is(messages.at(-1)?.role, 'user');
  });
});
