import * as assert from 'uvu/assert';
import { SILENT_GATEWAY_METRICS } from '../../../../src/gateway/metrics.ts';
import { describe } from '../../../check.ts';
import { FAULTS } from '../../harness/faulty-answers.ts';
import { askIntegration, portkeyOutcome } from '../../harness/integrations.ts';
import { UNUSABLE_CONTENTS } from '../../harness/unusable-answers.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  nonceOf,
  received,
  replying,
  shownTextOf,
  verdictJson,
} from '../../harness/world.ts';

const PATH = '/integrations/portkey';
type Json = Readonly<Record<string, unknown>>;

/** What Portkey sends before a request goes to its provider. */
const before = (json: unknown) => ({
  request: { json, text: 'the last message', isStreamingRequest: false, isTransformed: false },
  response: { json: {}, text: '', statusCode: null, isTransformed: false },
  provider: 'openai',
  requestType: 'chatComplete',
  metadata: {},
  eventType: 'beforeRequestHook',
});
/** And what it sends with the answer. */
const after = (json: unknown) => ({
  ...before({ model: 'gpt-5', messages: [{ role: 'user', content: 'a bomb' }] }),
  response: { json, text: '', statusCode: 200, isTransformed: false },
  eventType: 'afterRequestHook',
});
const chat = (content: unknown, more: Json = {}) =>
  before({ model: 'gpt-5', messages: [{ role: 'user', content }], ...more });
const growing = (messages: readonly Json[], tools: readonly Json[]) => before({ model: 'gpt-5', messages, tools });
const said = (message: Json) =>
  after({ id: 'x', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] });

const bombFinder: Answer = (sent) => judging(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);
const ask = (body: unknown, answer: Answer = bombFinder, headers: Readonly<Record<string, string>> = {}) =>
  askIntegration(gatewayOver(answer), PATH, body, headers);

const call = { id: 'x', type: 'function', function: { name: 'run', arguments: 'a bomb' } };
/** Where a text may stand in what Portkey sends. */
const PLACES: Readonly<Record<string, unknown>> = {
  'the last message': chat('a bomb'),
  'an earlier message': before({
    messages: [
      { role: 'user', content: 'a bomb' },
      { role: 'user', content: 'hello' },
    ],
  }),
  'a part of a message': chat([
    { type: 'text', text: 'hello' },
    { type: 'text', text: 'a bomb' },
  ]),
  'a call of a tool': before({ messages: [{ role: 'assistant', content: null, tool_calls: [call] }] }),
  'a tool that is defined': chat('hello', { tools: [{ type: 'function', function: { description: 'a bomb' } }] }),
  'a schema of the answer': chat('hello', { response_format: { json_schema: { description: 'a bomb' } } }),
  'a member that nobody knows': chat('hello', { prediction: { content: 'a bomb' } }),
  "the system prompt of Anthropic's API": chat('hello', { system: [{ type: 'text', text: 'a bomb' }] }),
  "a block of Anthropic's API": before({
    messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'a bomb' }] }],
  }),
  'a call in a block': before({
    messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'run', input: { cmd: 'a bomb' } }] }],
  }),
  'a prompt': before({ prompt: 'a bomb' }),
  'one of several prompts': before({ prompt: ['hello', 'a bomb'] }),
  'what is to be embedded': before({ input: ['hello', 'a bomb'] }),
  'an answer': said({ role: 'assistant', content: 'a bomb' }),
  'a call in an answer': said({ role: 'assistant', content: null, tool_calls: [call] }),
  'a completion': after({ choices: [{ text: 'a bomb', index: 0 }] }),
  'a message beside a text': after({ choices: [{ text: 'hello', message: { role: 'assistant', content: 'a bomb' } }] }),
  'a piece beside a text': after({ choices: [{ text: 'hello', delta: { content: 'a bomb' } }] }),
  'a text beside a message': after({ choices: [{ text: 'a bomb', message: { role: 'assistant', content: 'hello' } }] }),
  'a content beside choices': after({ type: 'message', content: 'a bomb', choices: [{ text: 'hello' }] }),
  'the second of two answers': after({
    choices: [{ message: { role: 'assistant', content: 'hello' } }, { message: { content: 'a bomb' } }],
  }),
  "an answer of Anthropic's API": after({ type: 'message', content: [{ type: 'text', text: 'a bomb' }] }),
};

describe("Portkey's webhook guardrail", (check) => {
  check('passes what nothing speaks against', async () => {
    for (const body of [
      chat('hello', { stream: true, temperature: 0, tool_choice: 'auto', user: 'a bomb', max_tokens: 5 }),
      said({ role: 'assistant', content: 'hello', refusal: null }),
    ]) {
      const answer = await ask(body);
      assert.is(await portkeyOutcome(answer.clone()), 'passed');
      assert.equal(await answer.json(), { verdict: true, data: { categories: [] } });
    }
  });

  for (const [name, body] of Object.entries(PLACES))
    check(`denies what stands in ${name}, and names the categories alone`, async () => {
      const answer = await ask(body);
      assert.equal(await answer.json(), { verdict: false, data: { categories: ['illicit/violent'] } });
    });

  check('asks about the text alone, not about names that change with each request', async () => {
    const world = gatewayOver(judging());
    for (const user of ['ana', 'ben'])
      await askIntegration(world, PATH, chat('hello', { user, metadata: { trace: user }, prompt_cache_key: user }));
    assert.equal(world.calls.map(shownTextOf), ['hello']);
  });

  check('finds the earlier messages of a growing conversation again, with the tools after them', async () => {
    const world = gatewayOver(judging());
    const tools = [{ type: 'function', function: { name: 'run', description: 'runs a command' } }];
    const messages = Array.from({ length: 80 }, (_, index) => ({ role: 'user', content: `message ${index}` }));
    let most = 0;
    for (let length = 65; length <= 80; length++) {
      const before = world.calls.length;
      await askIntegration(world, PATH, growing(messages.slice(0, length), tools));
      if (length > 65) most = Math.max(most, world.calls.length - before);
    }
    assert.is(most, 1);
  });

  check('has an answer before Portkey stops waiting, or when its operator says', async () => {
    for (const [headers, ms] of [
      [{}, 2500],
      [{ 'x-request-timeout-ms': '9000' }, 9000],
      [{ 'x-request-timeout-ms': '90000' }, 25_000],
    ] as const) {
      const world = gatewayOver(() => new Promise<never>(() => {}));
      const answer = askIntegration(world, PATH, chat('hello'), headers);
      await world.clock.advance(ms);
      const body = await (await answer).json();
      assert.equal(body, { verdict: false, data: { error: 'backend_timeout' } });
    }
  });
});

/** What has no verdict, and what Portkey is told then. */
const UNREADABLE: Readonly<Record<string, readonly [body: unknown, error: string]>> = {
  'no JSON': ['{', 'invalid_json'],
  'no object': [[], 'invalid_type'],
  'no event': [{ request: { json: { messages: [] } } }, 'invalid_type'],
  'no request': [{ eventType: 'beforeRequestHook' }, 'invalid_type'],
  'an empty request': [before({ model: 'gpt-5' }), 'empty_input'],
  'messages that are none': [before({ messages: 'a' }), 'invalid_type'],
  sound: [chat([{ type: 'input_audio', input_audio: {} }]), 'invalid_type'],
  'an image': [chat([{ type: 'image_url', image_url: { url: 'https://images.example/a.png' } }]), 'image_unsupported'],
  'a prompt of tokens': [before({ prompt: [1, 2, 3] }), 'invalid_type'],
  'an embedding of tokens': [before({ input: [[1, 2], [3]] }), 'invalid_type'],
  'an answer in a form that nobody knows': [after({ data: [] }), 'invalid_type'],
  'an answer without choices': [after({ choices: [] }), 'empty_input'],
  'an empty answer': [said({ role: 'assistant', content: '' }), 'empty_input'],
  'a text that is too long': [chat('a'.repeat(100_001)), 'input_too_long'],
  'a body that is too large': [chat('a'.repeat(1_100_000)), 'body_too_large'],
};

describe("Portkey's webhook guardrail has no verdict", (check) => {
  for (const [name, [body, error]] of Object.entries(UNREADABLE))
    check(`and denies: ${name}`, async () => {
      const world = gatewayOver(judging());
      const answer = await askIntegration(world, PATH, body);
      assert.equal(await answer.json(), { verdict: false, data: { error } });
      assert.is(world.calls.length, 0);
    });

  check('and denies without a right key: Portkey passes a 401', async () => {
    for (const authorization of ['', 'Bearer wrong']) {
      const world = gatewayOver(judging());
      const answer = await askIntegration(world, PATH, chat('hello'), { authorization });
      assert.equal(await answer.json(), { verdict: false, data: { error: 'unauthorized' } });
      assert.is(world.calls.length, 0);
    }
  });

  check('and denies where the alias is unknown, or the rate limit is used up', async () => {
    const unknown = await ask(chat('hello'), judging(), { 'x-moderation-model': 'no' });
    assert.equal(await unknown.json(), { verdict: false, data: { error: 'model-not-found' } });
    const world = gatewayOver(judging(), { variables: { RATE_LIMIT_RPM: '1' } });
    await askIntegration(world, PATH, chat('hello'));
    const limited = await askIntegration(world, PATH, chat('hello'));
    assert.equal(await limited.json(), { verdict: false, data: { error: 'rate_limit_exceeded' } });
  });

  for (const [name, { answer }] of Object.entries(FAULTS))
    check(`and denies: a backend with ${name}`, async () => {
      assert.is(await portkeyOutcome(await ask(chat('hello'), answer)), 'denied');
      assert.is(await portkeyOutcome(await ask(said({ content: 'hello' }), answer)), 'denied');
    });

  for (const [name, contentFor] of Object.entries(UNUSABLE_CONTENTS))
    check(`and denies: a judge with ${name}`, async () => {
      const answer: Answer = (sent) => replying(sent, contentFor(nonceOf(sent)) ?? null);
      assert.is(await portkeyOutcome(await ask(chat('hello'), answer)), 'denied');
    });

  check('and denies: a judge that is led astray', async () => {
    const astray: Answer = (sent) => replying(sent, verdictJson('123456789012'));
    const answer = await ask(chat('hello'), astray);
    assert.equal(await answer.json(), { verdict: false, data: { error: 'backend_unusable_reply' } });
  });

  check('counts what it denies without a verdict, and logs why', async () => {
    const reasons: string[] = [];
    const metrics = { ...SILENT_GATEWAY_METRICS, flaggedWithoutVerdict: (reason: string) => reasons.push(reason) };
    const world = gatewayOver(() => received(500, 'canary'), { needs: { metrics } });
    await askIntegration(world, PATH, chat('canary'));
    assert.equal(reasons, ['backend_error']);
    const line = world.logged.find((text) => text.includes('request-answered')) ?? '';
    assert.match(line, '"fault":"backend-error"');
    assert.not.match(world.logged.join('\n'), 'canary');
  });

  check('and another method is refused as everywhere', async () => {
    const { status } = await gatewayOver(judging()).visit(PATH);
    assert.is(status, 405);
  });
});
