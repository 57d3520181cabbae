import * as assert from 'uvu/assert';
import type { MessageWithParts } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { messagesOf } from '../harness/permission-requests.ts';
import { createAgentWorld, type WorldGiven } from '../harness/world.ts';

const OTHER = { providerID: 'demo', modelID: 'other' };
const THIRD = { providerID: 'demo', modelID: 'third' };
const COMMANDS: NonNullable<WorldGiven['commands']> = [
  ['look', { template: 'Look at $1.', agent: undefined, model: undefined }],
  ['review', { template: 'Review $ARGUMENTS', agent: 'reviewer', model: OTHER }],
  ['think', { template: '$ARGUMENTS', agent: 'thinker', model: undefined }],
];
const createWorld = () =>
  createAgentWorld({
    commands: COMMANDS,
    agents: [{ name: 'reviewer' }, { name: 'thinker', model: THIRD }],
    models: [OTHER, THIRD],
  });
const FILE = { type: 'file', mime: 'text/plain', url: 'data:text/plain,hi' };

describe('a command of the configuration', (check) => {
  check('is a prompt with its text, and the answer to that comes back', async () => {
    const world = await createWorld();
    const id = await world.session();
    const body = { command: 'look', arguments: '"this file" please', parts: [FILE] };
    const answer = (await world.post(`/session/${id}/command`, body)) as MessageWithParts;
    assert.is(answer.info.role, 'assistant');
    const [asked, answered] = await messagesOf(world, id);
    assert.equal(answered, answer);
    assert.equal(
      asked?.parts.map((part) => (part.type === 'text' ? part.text : part.type)),
      ['Look at this file please.', 'file'],
    );
    assert.is(world.asked.length, 1);
  });

  check('is answered by its own agent and model, else by those that the client names', async () => {
    const world = await createWorld();
    const id = await world.session();
    const chosen = { agent: 'reviewer', model: 'demo/third', arguments: 'x' };
    for (const [command, agent, model] of [
      ['look', 'reviewer', THIRD],
      ['review', 'reviewer', OTHER],
      ['think', 'thinker', THIRD],
    ] as const) {
      const { info } = (await world.post(`/session/${id}/command`, { ...chosen, command })) as MessageWithParts;
      assert.ok(info.role === 'assistant');
      assert.equal([info.agent, info.providerID, info.modelID], [agent, model.providerID, model.modelID], command);
    }
  });

  check('is answered with the variant that the client names only where its model is', async () => {
    const world = await createWorld();
    const id = await world.session();
    const chosen = { model: 'demo/third', variant: 'high', arguments: 'x' };
    await world.post(`/session/${id}/command`, { ...chosen, command: 'look' });
    await world.post(`/session/${id}/command`, { ...chosen, command: 'review' });
    await world.post(`/session/${id}/command`, { command: 'look', variant: 'low', arguments: 'x' });
    const models = (await messagesOf(world, id)).flatMap(({ info }) => (info.role === 'user' ? [info.model] : []));
    assert.equal(models, [{ ...THIRD, variant: 'high' }, OTHER, { ...OTHER, variant: 'low' }]);
  });

  check('takes the message id that a client chose', async () => {
    const world = await createWorld();
    const id = await world.session();
    const messageID = 'msg_9b76f3d00000aaaaaaaaaaaaaa';
    const body = { command: 'look', arguments: 'x', messageID };
    const { info } = (await world.post(`/session/${id}/command`, body)) as MessageWithParts;
    assert.ok(info.role === 'assistant');
    assert.is(info.parentID, messageID);
  });

  for (const [what, body, status, data] of [
    ['there is not', { command: 'lok', arguments: '' }, 400, { code: 'unknown_command', path: 'command' }],
    [
      'is nothing without arguments',
      { command: 'think', arguments: ' ' },
      400,
      { code: 'invalid_body', path: 'arguments' },
    ],
    [
      'is nothing but blank',
      { command: 'think', arguments: '', parts: [{ type: 'text', text: ' ' }] },
      400,
      { code: 'invalid_body', path: 'arguments' },
    ],
    ['has no name', { arguments: 'x' }, 400, { code: 'invalid_body', path: 'command' }],
    [
      'brings a file of the server',
      { command: 'look', arguments: 'x', parts: [{ ...FILE, url: 'file:///etc/passwd' }] },
      400,
      { code: 'invalid_body', path: 'parts[0].url' },
    ],
    [
      'has longer arguments than may be',
      { command: 'look', arguments: 'x'.repeat(1024 * 1024 + 1) },
      400,
      { code: 'invalid_body', path: 'arguments' },
    ],
    ['becomes a longer text than may be', { command: 'look', arguments: 'ẞ'.repeat(1024 * 1024) }, 413, {}],
  ] as const)
    check(`is refused if it ${what}, and nothing is stored`, async () => {
      const world = await createWorld();
      const id = await world.session();
      const response = await world.call('POST', `/session/${id}/command`, body);
      assert.is(response.status, status);
      const error = (await response.json()) as { data: Record<string, unknown> };
      for (const [name, value] of Object.entries(data)) assert.is(error.data[name], value);
      assert.equal(await messagesOf(world, id), []);
      assert.is(world.asked.length, 0);
    });

  check('that is not near to any is not quoted', async () => {
    const world = await createWorld();
    const id = await world.session();
    const refused = await world.call('POST', `/session/${id}/command`, { command: 'sk-canary', arguments: '' });
    assert.not.match(await refused.text(), 'canary');
    const near = await world.call('POST', `/session/${id}/command`, { command: 'lok', arguments: '' });
    assert.match(await near.text(), 'the nearest is \\"look\\"');
    const none = await world.call('POST', '/session/ses_000000000000aaaaaaaaaaaaaa/command', {
      command: 'look',
      arguments: 'x',
    });
    assert.is(none.status, 404);
  });
});
