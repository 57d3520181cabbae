import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { FAULTS } from '../../harness/faulty-answers.ts';
import { guarding } from '../../harness/guards.ts';
import { askIntegration, litellmOutcome } from '../../harness/integrations.ts';
import { errorOf } from '../../harness/read-answer.ts';
import { UNUSABLE_CONTENTS } from '../../harness/unusable-answers.ts';
import {
  type Answer,
  GATEWAY_KEY,
  gatewayOver,
  judging,
  nonceOf,
  replying,
  shownTextOf,
  verdictJson,
  type WorldSettings,
} from '../../harness/world.ts';

const PATH = '/beta/litellm_basic_guardrail_api';
const IMAGE = `data:image/png;base64,${'AAAA'.repeat(20)}`;

/** What LiteLLM sends for a request of one message. */
const bodyOf = (more: object = {}) => ({
  input_type: 'request',
  litellm_call_id: 'call',
  litellm_trace_id: 'trace',
  structured_messages: null,
  images: null,
  tools: null,
  texts: ['some text'],
  request_data: { user_api_key_hash: 'hash', user_api_key_user_email: 'ana@example.com' },
  request_headers: { 'user-agent': 'OpenAI/Python', authorization: '[present]' },
  litellm_version: '1.106.2',
  additional_provider_specific_params: {},
  tool_calls: null,
  model: 'gpt-5',
  ...more,
});
const bombFinder: Answer = (sent) => judging(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);
const outcomeOf = async (body: unknown, answer: Answer = bombFinder, settings: WorldSettings = {}): Promise<string> =>
  litellmOutcome(await askIntegration(gatewayOver(answer, settings), PATH, body));
const BLOCKED = 'Blocked by content moderation: illicit/violent';
const call = (given: string) => ({ id: 'x', type: 'function', function: { name: 'run', arguments: given } });

/** Where a text may stand in what LiteLLM sends. */
const PLACES: Readonly<Record<string, object>> = {
  'a text': { texts: ['hello', 'a bomb'] },
  'an answer': { input_type: 'response', texts: ['a bomb'] },
  'the arguments of a call': { texts: [], tool_calls: [call('{"cmd":"a bomb"}')] },
  'a tool that is defined': { tools: [{ type: 'function', function: { name: 'x', description: 'a bomb' } }] },
  'a message that is not among the texts': {
    structured_messages: [
      { role: 'user', content: 'some text' },
      { role: 'system', content: 'a bomb' },
    ],
  },
  'a call in a message': { structured_messages: [{ role: 'assistant', content: null, tool_calls: [call('a bomb')] }] },
  'the role of a message': { structured_messages: [{ role: 'a bomb', content: 'some text' }] },
  'the id of a call': { structured_messages: [{ role: 'tool', tool_call_id: 'a bomb', content: 'some text' }] },
  'reasoning in a message': { structured_messages: [{ role: 'assistant', content: 'a', reasoning_content: 'bomb' }] },
};

describe("LiteLLM's generic guardrail", (check) => {
  check('is told that nothing speaks against a text, or why it is blocked, without the text', async () => {
    assert.is(await outcomeOf(bodyOf()), 'passed');
    assert.is(
      await outcomeOf(bodyOf(), judging({ VI: 90, HR: 60 })),
      'Blocked by content moderation: harassment, violence',
    );
    const answer = await askIntegration(gatewayOver(bombFinder), PATH, bodyOf({ texts: ['a bomb'] }));
    assert.equal(await answer.json(), { action: 'BLOCKED', blocked_reason: BLOCKED });
  });

  for (const [name, more] of Object.entries(PLACES))
    check(`is blocked by what stands in ${name}`, async () => assert.is(await outcomeOf(bodyOf(more)), BLOCKED));

  check('judges what stands in texts and messages once', async () => {
    const world = gatewayOver(bombFinder);
    const structured_messages = [
      { role: 'system', content: 'be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hello' },
          { type: 'text', text: 'there' },
        ],
      },
    ];
    await askIntegration(world, PATH, bodyOf({ texts: ['be kind', 'hello', 'there', 'hello'], structured_messages }));
    assert.equal(world.calls.map(shownTextOf).sort(), ['be kind', 'hello', 'there']);
  });

  check('finds the earlier texts of a growing conversation again, of any length', async () => {
    const world = gatewayOver(bombFinder);
    const texts = Array.from({ length: 200 }, (_, index) => `message ${index}`);
    let most = 0;
    for (let length = 129; length <= 200; length++) {
      const before = world.calls.length;
      const answer = await askIntegration(world, PATH, bodyOf({ texts: texts.slice(0, length) }));
      assert.is(await litellmOutcome(answer), 'passed');
      if (length > 129) most = Math.max(most, world.calls.length - before);
    }
    assert.is(most, 1);
    const last = await askIntegration(world, PATH, bodyOf({ texts: [...texts, 'a bomb'] }));
    assert.is(await litellmOutcome(last), BLOCKED);
  });

  check('finds them again too where tools and their calls stand between them', async () => {
    const world = gatewayOver(bombFinder);
    const tools = [{ type: 'function', function: { name: 'run', description: 'runs a command' } }];
    const turns = Array.from({ length: 60 }, (_, index) => [
      { role: 'user', content: `message ${index}` },
      { role: 'assistant', content: null, tool_calls: [call(`{"step":${index}}`)] },
      { role: 'tool', tool_call_id: 'x', content: `result ${index}` },
    ]);
    let most = 0;
    for (let length = 45; length <= 60; length++) {
      const structured_messages = turns.slice(0, length).flat();
      const texts = structured_messages.flatMap(({ content }) => content ?? []);
      const before = world.calls.length;
      await askIntegration(world, PATH, bodyOf({ texts, structured_messages, tools }));
      if (length > 45) most = Math.max(most, world.calls.length - before);
    }
    assert.is(most, 2);
  });

  check('takes the key in either header', async () => {
    for (const [headers, status] of [
      [{ 'x-api-key': GATEWAY_KEY, authorization: '' }, 401],
      [{ 'x-api-key': 'wrong' }, 200],
    ] as const)
      assert.is((await askIntegration(gatewayOver(bombFinder), PATH, bodyOf(), headers)).status, status);
    const { app } = gatewayOver(bombFinder);
    const asked = (headers: Readonly<Record<string, string>>) =>
      app(
        new Request(`http://gateway.test${PATH}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(bodyOf()),
        }),
      );
    assert.is((await asked({ 'x-api-key': GATEWAY_KEY })).status, 200);
    assert.is((await asked({ 'x-api-key': 'wrong' })).status, 401);
    assert.is((await asked({})).status, 401);
  });

  check(
    'is judged by the alias that its operator names, with the categories of guards if it has a guard face',
    async () => {
      const world = gatewayOver(guarding({ JB: 90 }));
      const answer = await askIntegration(world, PATH, bodyOf(), { 'x-moderation-model': 'qwen3guard' });
      assert.is(await litellmOutcome(answer), 'Blocked by content moderation: jailbreak');
      const unknown = await askIntegration(world, PATH, bodyOf(), { 'x-moderation-model': 'no' });
      assert.is((await errorOf(unknown)).code, 'model_not_found');
    },
  );

  check('shows images to a judge that sees them', async () => {
    const variables = { MODERATION_MODELS: '{"omni-moderation-latest":{"model":"m","vision":true}}' };
    const world = gatewayOver(judging(), { variables });
    assert.is(await litellmOutcome(await askIntegration(world, PATH, bodyOf({ images: [IMAGE] }))), 'passed');
    assert.is(world.calls.filter(({ body }) => body?.includes('AAAAAAAA')).length, 1);
  });
});

const UNREADABLE: Readonly<Record<string, unknown>> = {
  'no object': [],
  'texts that are none': bodyOf({ texts: [7] }),
  'nothing at all': bodyOf({ texts: null }),
  'empty texts': bodyOf({ texts: ['', ''] }),
  'a text that is too long': bodyOf({ texts: ['a'.repeat(100_001)] }),
  'sound in a message': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }] }],
  }),
  'a file in a message': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'AAAA' } }] }],
  }),
  'an image that cannot be judged': bodyOf({ images: [IMAGE] }),
  'an image in a message that cannot be judged': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'image_url', image_url: IMAGE }] }],
  }),
  'a call that is none': bodyOf({ tool_calls: [{ id: 'x' }] }),
  'more images than MAX_INPUTS': bodyOf({ images: Array.from({ length: 40 }, (_, index) => `${IMAGE}${index}`) }),
};

describe("LiteLLM's generic guardrail has no verdict", (check) => {
  for (const [name, body] of Object.entries(UNREADABLE))
    check(`and closes, also with fail_open: ${name}`, async () => {
      const world = gatewayOver(judging());
      const answer = await askIntegration(world, PATH, body);
      assert.is(answer.status, 400);
      assert.is(await litellmOutcome(answer, 'fail_open'), 'failed');
      await errorOf(await askIntegration(world, PATH, body));
      assert.is(world.calls.length, 0);
    });

  check('on an image part that holds a text of its own, which nobody would read', async () => {
    const models = { 'omni-moderation-latest': { model: 'gemma4:31b', vision: true } };
    const partWith = (more: object) => ({
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,AAAA' },
      ...more,
    });
    const askWith = (more: object) => {
      const world = gatewayOver(judging(), { variables: { MODERATION_MODELS: JSON.stringify(models) } });
      const message = { role: 'user', content: [{ type: 'text', text: 'look' }, partWith(more)] };
      return askIntegration(world, PATH, bodyOf({ structured_messages: [message] }));
    };
    assert.is(await litellmOutcome(await askWith({ text: 'a bomb' })), 'failed');
    for (const silent of [{}, { text: '' }, { cache_control: { type: 'ephemeral' } }])
      assert.is(await litellmOutcome(await askWith(silent)), 'passed');
  });

  for (const [name, { answer, against }] of Object.entries(FAULTS))
    for (const NO_VERDICT of ['error', 'flag'])
      check(
        `from a backend with ${name}, and closes unless its operator lets outages pass (${NO_VERDICT})`,
        async () => {
          const world = gatewayOver(answer, { variables: { NO_VERDICT } });
          const reply = await askIntegration(world, PATH, bodyOf());
          assert.ok(reply.status >= 400);
          assert.is(await litellmOutcome(reply.clone()), 'failed');
          // Another text may be answered: a user could bring this about.
          assert.is(await litellmOutcome(reply, 'fail_open'), against === 'request' ? 'failed' : 'passed');
        },
      );

  for (const [name, contentFor] of Object.entries(UNUSABLE_CONTENTS))
    check(`from a judge with ${name}, and closes, also with fail_open`, async () => {
      const answer: Answer = (sent) => replying(sent, contentFor(nonceOf(sent)) ?? null);
      const reply = await askIntegration(gatewayOver(answer), PATH, bodyOf());
      assert.is(await litellmOutcome(reply, 'fail_open'), 'failed');
    });

  check('from a judge that is led astray, and closes: that is no outage', async () => {
    const astray: Answer = (sent) => replying(sent, verdictJson('123456789012'));
    for (const settings of [{}, { variables: { NO_VERDICT: 'flag' } }]) {
      const answer = await askIntegration(gatewayOver(astray, settings), PATH, bodyOf());
      assert.is(answer.status, 500);
      assert.is(await litellmOutcome(answer, 'fail_open'), 'failed');
    }
  });

  check('where one text of several has none', async () => {
    const answer: Answer = (sent) =>
      shownTextOf(sent) === 'two' ? replying(sent, '{}') : replying(sent, verdictJson(nonceOf(sent)));
    assert.is(await outcomeOf(bodyOf({ texts: ['one', 'two', 'three'] }), answer), 'failed');
  });

  check('for an image, which is left out beside a text where the operator has chosen so', async () => {
    const variables = { UNJUDGED_INPUT: 'text' };
    const world = gatewayOver(judging(), { variables });
    const answer = await askIntegration(world, PATH, bodyOf({ images: [IMAGE] }));
    assert.is(answer.headers.get('x-moderation-unjudged'), 'image');
    assert.is(await litellmOutcome(answer), 'passed');
    assert.is(await outcomeOf(bodyOf({ texts: [], images: [IMAGE] }), judging(), { variables }), 'failed');
  });
});
