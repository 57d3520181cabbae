import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { guarding } from '../../../harness/guard-face.ts';
import { askIntegration, litellmOutcome } from '../../../harness/integrations.ts';
import { errorOf } from '../../../harness/read-answer.ts';
import { GATEWAY_KEY, gatewayOver, judging, shownTextOf } from '../../../harness/world.ts';
import { bodyOf, bombFinder, IMAGE, outcomeOf, PATH } from './world.ts';

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
          { type: 'text', text: 'hello,' },
          { type: 'text', text: 'there' },
        ],
      },
    ];
    await askIntegration(world, PATH, bodyOf({ texts: ['be kind', 'hello,', 'there', 'hello,'], structured_messages }));
    assert.equal(world.calls.map(shownTextOf).sort(), ['be kind', 'hello,\nthere']);
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
