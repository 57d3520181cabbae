import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask } from '../../harness/permission-requests.ts';
import { createAgentWorld, prompt } from '../../harness/world.ts';
import { file, refused } from './world.ts';

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
