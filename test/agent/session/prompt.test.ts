import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { ask, contentsOf, messagesOf, until } from '../harness/permission-requests.ts';
import { createAgentWorld, hanging, prompt, replying } from '../harness/world.ts';

type Refused = { readonly name: string; readonly data: { readonly message: string; readonly path?: string | null } };

type World = Awaited<ReturnType<typeof createAgentWorld>>;
/** An id that a client with a clock of its own would choose. */
const idAt = ({ clock }: World, aheadMs: number): string =>
  `msg_${(((clock.now() + aheadMs) % 2 ** 36) * 0x1000).toString(16).padStart(12, '0')}ABCDEFGHIJKLMN`;

const file = (url: string, mime = 'image/png') => ({ parts: [{ type: 'file', mime, url }] });

/** Tries a request that must be refused, and that the store must not show. */
const refused = async (
  world: Awaited<ReturnType<typeof createAgentWorld>>,
  [method, path, body]: readonly [method: string, path: string, body: unknown],
): Promise<{ readonly status: number } & Refused> => {
  const before = JSON.stringify(await contentsOf(world.store));
  const response = await world.call(method, path, body);
  const reported = (await response.json()) as Refused;
  assert.is(JSON.stringify(await contentsOf(world.store)), before, `${method} ${path} left something behind`);
  return { status: response.status, ...reported };
};

describe('metadata of a part of a prompt', (check) => {
  const noted = { metadata: { of: { a: 'client' } } };
  const text = { type: 'text', text: 'Hello', ...noted };
  const picture = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA', ...noted };

  check('are stored with it, and no model is shown them', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await world.call('POST', `/session/${id}/message`, { parts: [text, picture] });
    const [stored] = await messagesOf(world, id);
    assert.equal(
      stored?.parts.map((part) => ('metadata' in part ? part.metadata : undefined)),
      [noted.metadata, noted.metadata],
    );
    assert.not.match(JSON.stringify(world.asked), 'client');
  });

  check('are at most a kibibyte', async () => {
    const world = await createAgentWorld();
    const path = `/session/${await world.session()}/message`;
    const parts = [{ ...text, metadata: { long: 'é'.repeat(507) } }];
    const { status, data } = await refused(world, ['POST', path, { parts }]);
    assert.equal([status, data.path], [400, 'parts[0].metadata']);
    assert.match(data.message, '1024 bytes');
    const fitting = [{ ...text, metadata: { long: 'é'.repeat(506) } }];
    assert.is((await world.call('POST', path, { parts: fitting })).status, 200);
  });
});

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
  check('is refused before anything is stored, and the error says what is wrong where', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'hidden', canAnswerPrompts: false }] });
    const id = await world.session();
    const path = `/session/${id}/message`;
    const parts = [{ type: 'text', text: 'hi' }];
    const cases: readonly (readonly [unknown, string, RegExp])[] = [
      [prompt('x', { agent: 'nobody' }), 'agent', /^this agent is not configured\. Agents are: build$/],
      [
        prompt('x', { agent: 'biuld' }),
        'agent',
        /^agent "biuld" is not configured; the nearest is "build"\. Agents are: build$/,
      ],
      [prompt('x', { agent: 'hidden' }), 'agent', /^agent "hidden" answers no prompts\. Agents are: build$/],
      [prompt('x', { model: 'demo/mian' }), 'model', /nearest is "demo\/main"/],
      [
        prompt('x', { model: { providerID: 'other', modelID: 'main' } }),
        'model',
        /^this model is not configured\. GET /,
      ],
      [
        prompt('x', { model: 'demo/ghost' }),
        'model',
        /^model "demo\/ghost" is not configured; the nearest is "demo\/main"\. GET /,
      ],
      [prompt('x', { model: 'nonsense' }), 'model', /expected a model as "provider\/key"/],
      [prompt('x', { model: 7 }), 'model', /expected a model/],
      [prompt('x', { messageID: 'bad' }), 'messageID', /expected msg_/],
      [prompt('x', { messageID: 'ses_0123456789abABCDEFGHIJKLMN' }), 'messageID', /expected msg_/],
      [{ parts: [] }, 'parts', /^parts: expected at least 1 entries$/],
      [{}, 'parts', /^parts: is required$/],
      [{ parts: [{ type: 'text', text: 7 }] }, 'parts[0].text', /expected string/],
      [{ parts: [{ text: 'x' }] }, 'parts[0].type', /expected text or file/],
      [{ parts, model: { providerID: 'demo' } }, 'model', /expected a model/],
      [{ parts: 'hi' }, 'parts', /parts: expected/],
      [{ parts: [{ type: 'agent', name: 'x' }] }, 'parts[0].type', /expected text or file/],
      [{ parts: [...parts, { type: 'text' }] }, 'parts[1].text', /^parts\[1\]\.text: is required$/],
      [{ parts: [{ type: 'file', mime: 'text/plain', url: 'file:///etc/passwd' }] }, 'parts[0].url', /data: URL/],
      [{ parts: [{ type: 'file', mime: 'text/plain', url: 'https://elsewhere' }] }, 'parts[0].url', /data: URL/],
      [{ parts, tools: { pay: 'yes' } }, 'tools.pay', /expected boolean/],
      [{ parts, tools: { ['x'.repeat(201)]: true } }, `tools.${'x'.repeat(201)}`, /expected at most 200 characters$/],
      [{ parts, tools: { ['x'.repeat(1_000_000)]: true } }, `tools.${'x'.repeat(294)}…`, /^.{0,400}$/],
      [
        { parts, tools: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [at, true])) },
        'tools',
        /expected at most 200 entries$/,
      ],
      [{ parts, noReply: 1 }, 'noReply', /expected boolean/],
      [prompt(' \n\t '), 'parts', /expected a text that is not blank, or a file/],
      [{ parts: [prompt('').parts[0], prompt(' ').parts[0]] }, 'parts', /not blank/],
      [file('data:image/png;base64,AA'), 'parts[0].url', /expected base64 behind the comma/],
      [file('data:image/png;base64,AA==AAAA'), 'parts[0].url', /base64/],
      [file('data:image/png;base64,A A='), 'parts[0].url', /base64/],
      [file('data:image/png;base64,-_-_'), 'parts[0].url', /base64/],
      [file('data:image/png;base64,AAA%3D'), 'parts[0].url', /base64/],
      [file('data:text/plain,50%'), 'parts[0].url', /sound percent escapes/],
      [file('data:text/plain,%ff'), 'parts[0].url', /sound percent escapes/],
      [file('data:,x'), 'parts[0].url', /data: URL/],
      [file('data:image;base64,AAAA'), 'parts[0].url', /data: URL/],
      [file(`data:text/plain;${'x'.repeat(300)},x`), 'parts[0].url', /data: URL/],
      [file('data:text/plain,x', ''), 'parts[0].mime', /expected a media type/],
      [file('data:text/plain,x', 'text'), 'parts[0].mime', /expected a media type/],
      [file('data:text/plain,x', 'text/'), 'parts[0].mime', /expected a media type/],
      [file('data:text/plain,x', 'text/plain\nx'), 'parts[0].mime', /expected a media type/],
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
        const message = id.startsWith('ses_') ? `session "${id}" was not found` : 'this session was not found';
        assert.equal([status, name, data], [404, 'NotFoundError', { message }]);
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

describe('a name that is a slip away from one that is read', (check) => {
  check('is refused, with the place and the name that was meant', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const text = { type: 'text', text: 'x' };
    const [message, session] = [`/session/${id}/message`, '/session'];
    const cases: readonly (readonly [method: string, path: string, body: object, place: string, meant: string])[] = [
      ['POST', message, prompt('x', { modle: 'demo/main' }), 'modle', 'model'],
      ['POST', message, prompt('x', { agents: 'build' }), 'agents', 'agent'],
      ['POST', message, prompt('x', { messageId: 'x' }), 'messageId', 'messageID'],
      ['POST', message, prompt('x', { noreply: true }), 'noreply', 'noReply'],
      ['POST', message, prompt('x', { tool: {} }), 'tool', 'tools'],
      ['POST', message, { part: [text] }, 'part', 'parts'],
      ['POST', message, { parts: [text, { ...text, synthetc: true }] }, 'parts[1].synthetc', 'synthetic'],
      ['POST', message, { parts: [{ type: 'file', mime: 'a/b', uri: 'data:a/b,x' }] }, 'parts[0].uri', 'url'],
      [
        'POST',
        message,
        prompt('x', { model: { providerId: 'demo', modelID: 'main' } }),
        'model.providerId',
        'providerID',
      ],
      ['POST', session, { titel: 'x' }, 'titel', 'title'],
      ['POST', session, { permissions: [] }, 'permissions', 'permission'],
      ['POST', session, { parentId: id }, 'parentId', 'parentID'],
      [
        'POST',
        session,
        { permission: [{ permission: 'a', patern: '*', action: 'ask' }] },
        'permission[0].patern',
        'pattern',
      ],
      ['PATCH', `/session/${id}`, { time: { archive: 1 } }, 'time.archive', 'archived'],
      ['POST', '/permission/per_x/reply', { repyl: 'once' }, 'repyl', 'reply'],
      ['POST', '/permission/per_x/reply', { reply: 'reject', mesage: 'x' }, 'mesage', 'message'],
    ];
    for (const [method, path, body, place, meant] of cases) {
      const { status, data } = await refused(world, [method, path, body]);
      assert.equal([status, data.path], [400, place], JSON.stringify(body));
      assert.is(data.message, `${place}: unknown name, the nearest known one is ${meant}`);
    }
  });

  check('is not one that clients send and no one here reads', async () => {
    const world = await createAgentWorld();
    const id = await world.session({ workspaceID: 'x', projectID: 'y', mode: 'build', metadata: { titel: 1 } });
    const text = { type: 'text', text: 'x', id: 'prt_x', ignored: false, time: { start: 1 }, metadata: {} };
    const source = { type: 'file', path: 'x', text: { start: 0, end: 1, value: 'x' } };
    const attached = { type: 'file', mime: 'text/plain', url: 'data:text/plain,x', source };
    const more = {
      format: { type: 'text' },
      mode: 'build',
      tools: { modle: true },
      x: 1,
      '': 2,
      __proto__: { modle: 3 },
    };
    await world.post(`/session/${id}/message`, { parts: [text, attached], ...more });
    await world.call('PATCH', `/session/${id}`, { time: { created: 1, archived: 2 }, revert: {} });
    assert.is(world.asked.length, 1);
  });

  check('is looked for among the first hundred names, which is more than anybody means', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const strange = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}q`, 0]));
    const path = `/session/${id}/message`;
    const few = { ...strange(97), ...prompt('x', { noReply: true, modle: 1 }) };
    assert.is((await refused(world, ['POST', path, few])).data.path, 'modle');
    const { parts } = prompt('x');
    assert.is((await world.call('POST', path, { parts, noReply: true, ...strange(98), modle: 1 })).status, 200);
  });
});

describe('a file', (check) => {
  check('of any kind is taken, when a model can be sent it in some form', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    for (const [url, mime] of [
      ['data:image/png;base64,iVBORw0KGgo=', 'image/png'],
      ['data:image/png;BASE64,', 'image/png'],
      ['data:text/plain;charset=utf-8,50%25%20%E2%82%AC', 'text/plain; charset=utf-8'],
      ['data:text/plain,', 'text/plain'],
      ['data:image/svg+xml,<svg/>', 'image/svg+xml'],
      ['data:application/vnd.x-y.z+json;base64,AAAA', 'application/vnd.x-y.z+json'],
    ] as const)
      await world.post(`/session/${id}/message`, { ...file(url, mime), noReply: true });
    assert.is((await messagesOf(world, id)).length, 6);
  });

  check('of many megabytes is looked through in little time', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const startedAt = performance.now();
    for (const data of ['A'.repeat(4_000_000), `${'A'.repeat(4_000_000)}*AAA`])
      await world.call('POST', `/session/${id}/message`, { ...file(`data:image/png;base64,${data}`), noReply: true });
    assert.ok(performance.now() - startedAt < 3000);
    assert.is((await messagesOf(world, id)).length, 1);
  });
});

describe('a session that cannot be made', (check) => {
  check('is refused before anything is stored, and the error says what is wrong where', async () => {
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
