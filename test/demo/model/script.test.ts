import type OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { demoScript } from '../../../src/demo/model/script.ts';
import { describe } from '../../check.ts';
import { createWorld } from '../../relay-admin/harness/world.ts';
import { createScriptedWorld } from './clients.ts';

const ADMIN = ['describe', 'find_user', 'preview_recharge', 'recharge', 'read'].map((name) => `relay-admin_${name}`);

/** Says one message, and has its tool calls made until there are none. */
const converse = async (
  words: string,
  {
    system = 'Be brief.',
    tools = [] as readonly string[],
    call = async (_name: string, _given: unknown) => '',
    before = [] as readonly OpenAI.ChatCompletionMessageParam[],
  } = {},
) => {
  const { openai } = createScriptedWorld(demoScript);
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: system },
    ...before,
    { role: 'user', content: words },
  ];
  const made: string[] = [];
  const offered = tools.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }));
  for (let step = 0; step < 10; step++) {
    const { choices } = await openai.chat.completions.create({ model: 'm', messages, tools: offered });
    const message = choices[0]?.message;
    if (!message?.tool_calls) return { outputText: message?.content ?? '', made };
    messages.push(message);
    for (const asked of message.tool_calls) {
      if (asked.type !== 'function') continue;
      const { name, arguments: given } = asked.function;
      made.push(name);
      messages.push({ role: 'tool', tool_call_id: asked.id, content: await call(name, JSON.parse(given)) });
    }
  }
  throw new Error('It never came to an end');
};

const adminCall = (world: ReturnType<typeof createWorld>) => {
  const admin = world.start();
  return async (name: string, given: unknown): Promise<string> => {
    const outcome = await admin.call(name.replace(/^relay-admin_/, ''), given, new AbortController().signal);
    if (outcome.kind === 'done') return JSON.stringify(outcome.result);
    return outcome.kind === 'failed' ? outcome.text : 'no such tool';
  };
};

describe("the demo's script", (check) => {
  check('answers a plain text with a sentence, and the same one each time', async () => {
    const [one, two] = [await converse('Hello  there'), await converse('Hello  there')];
    assert.match(one.outputText, 'You said: "Hello there".');
    assert.equal(one, two);
  });

  check('makes a short title when it is asked for one', async () => {
    const system = 'You are a helper. Generate a short title for this conversation.';
    const { outputText } = await converse('recharge alice@example.com 5 because she has paid her invoice', { system });
    assert.is(outputText, 'recharge alice@example.com 5 because she has');
  });

  check('recharges a user through the real admin tools, in their order', async () => {
    const world = createWorld();
    const call = adminCall(world);
    const { outputText, made } = await converse('Please recharge alice@example.com 5.25', { tools: ADMIN, call });
    assert.equal(made, ['relay-admin_find_user', 'relay-admin_preview_recharge', 'relay-admin_recharge']);
    assert.is(outputText, 'Verified: 5.25 was added for alice@example.com, whose balance is now 17.75.');
    assert.is(world.control.credits().length, 1);
  });

  check('reads address and amount as people write them, and adds the domain to a bare name', async () => {
    for (const words of [
      'recharge alice by 2.5',
      'Please recharge user alice@example.com by $2.5, she has paid.',
      'Could you top up alice@example.com with 2.5?',
    ]) {
      const world = createWorld();
      const { outputText } = await converse(words, { tools: ADMIN, call: adminCall(world) });
      assert.is(outputText, 'Verified: 2.5 was added for alice@example.com, whose balance is now 15.');
    }
  });

  check('takes no sentence for a recharge that names no one or no amount', async () => {
    for (const words of ['recharge my battery', 'which credit card 5 times?', 'recharge alice', 'recharge alice 5']) {
      assert.match((await converse(words, { tools: ADMIN })).outputText, 'I am the demo model');
    }
  });

  check('begins anew when it is asked again in the same conversation', async () => {
    const world = createWorld();
    const call = adminCall(world);
    const before = [
      { role: 'user' as const, content: 'recharge alice@example.com 1' },
      {
        role: 'assistant' as const,
        content: null,
        tool_calls: [
          { id: 'c', type: 'function' as const, function: { name: 'relay-admin_recharge', arguments: '{}' } },
        ],
      },
      { role: 'tool' as const, tool_call_id: 'c', content: '{"outcome":"verified","advice":"","balance_after":"1"}' },
    ];
    const { made } = await converse('recharge alice@example.com 2', { tools: ADMIN, call, before });
    assert.is(made.length, 3);
    assert.equal(
      world.control.credits().map(({ userId }) => userId),
      [world.control.users.find(({ email }) => email === 'alice@example.com')?.id],
    );
  });

  check('stops where a tool refuses, and says what it answered', async () => {
    const world = createWorld();
    const { outputText, made } = await converse('recharge nobody@example.com 5', {
      tools: ADMIN,
      call: adminCall(world),
    });
    assert.equal(made, ['relay-admin_find_user']);
    assert.match(outputText, 'I stopped');
    assert.is(world.control.credits().length, 0);
  });

  check('never calls a recharge done that is not verified', async () => {
    const world = createWorld();
    world.control.useFault('drop-after');
    const { outputText } = await converse('recharge alice@example.com 5', { tools: ADMIN, call: adminCall(world) });
    assert.match(outputText, 'not confirmed (accepted_unverified)');
  });

  check('hands a recharge to the maintainer when it has no admin tools of its own', async () => {
    const given: unknown[] = [];
    const call = async (_name: string, args: unknown) => {
      given.push(args);
      return 'Verified: all is well.';
    };
    const { outputText, made } = await converse('recharge alice@example.com 5', { tools: ['read', 'task'], call });
    assert.equal(made, ['task']);
    assert.equal(given, [
      { description: 'Recharge a user', prompt: 'recharge alice@example.com 5', subagent_type: 'maintainer' },
    ]);
    assert.is(outputText, 'The maintainer says: Verified: all is well.');
  });

  check('recharges no one without all the tools for it', async () => {
    for (const tools of [[], ADMIN.filter((name) => !name.includes('preview'))]) {
      assert.match((await converse('recharge alice@example.com 5', { tools })).outputText, 'no tools');
    }
  });
});
