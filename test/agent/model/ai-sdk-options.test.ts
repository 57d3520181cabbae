import type { AnthropicLanguageModelOptions } from '@ai-sdk/anthropic';
import type { OpenAILanguageModelResponsesOptions } from '@ai-sdk/openai';
import * as assert from 'uvu/assert';
import type { ADAPTER_OPTIONS } from '../../../src/agent/model/adapters.ts';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import type { ModelMessage, ModelTarget } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { createControlledModel } from '../../demo/model/control.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ADAPTERS, collected, createModelWorld, question, TOOLS, target } from '../harness/model-world.ts';

type Body = Readonly<Record<string, unknown>>;
const [COMPATIBLE, OPENAI, ANTHROPIC] = ADAPTERS;

const MIDDLE_OF_A_TURN: readonly ModelMessage[] = [
  { role: 'user', content: [{ kind: 'text', text: 'Time?' }] },
  { role: 'assistant', text: '', calls: [{ id: 'c1', name: 'time', input: {} }] },
  { role: 'tool', results: [{ id: 'c1', name: 'time', output: 'noon', isError: false }] },
];

/** What a backend is sent for a target. */
const bodyFor = async (more: Partial<ModelTarget>, messages?: readonly ModelMessage[]): Promise<Body> => {
  const { ask, control } = createModelWorld();
  control.addReply('fine');
  await ask({ target: target(more), tools: TOOLS, ...(messages === undefined ? {} : { messages }) });
  return control.requests()[0]?.body ?? {};
};
const withEffort = (npm: string, upstreamID: string, reasoningEffort: string, options: Body = {}) =>
  bodyFor({ npm, upstreamID, maxOutputTokens: 1000, options: { reasoningEffort, ...options } });

/** As types: the names that a list has, and those that the adapter has, are the same. */
type Same<Left, Right> = [Left] extends [Right] ? ([Right] extends [Left] ? true : never) : never;
type Listed<Npm extends keyof typeof ADAPTER_OPTIONS> = NonNullable<(typeof ADAPTER_OPTIONS)[Npm]>[number];

describe('a reasoning effort', (check) => {
  for (const effort of ['low', 'medium', 'high', 'xhigh', 'max']) {
    check(`of ${effort} reaches a backend in the words of each adapter`, async () => {
      assert.is((await withEffort(COMPATIBLE, 'acme-large', effort)).reasoning_effort, effort);
      const { reasoning } = await withEffort(OPENAI, 'gpt-6', effort);
      assert.is((reasoning as Body).effort, effort);
      const body = await withEffort(ANTHROPIC, 'claude-opus-4-7', effort);
      assert.equal(body.output_config, { effort });
      assert.equal(body.thinking, { type: 'adaptive', display: 'summarized' });
      assert.is(body.max_tokens, 1000);
    });
  }

  check('is the next lower one for a model of Anthropic that does not know it', async () => {
    assert.equal((await withEffort(ANTHROPIC, 'claude-opus-4-6', 'xhigh')).output_config, { effort: 'high' });
    assert.equal((await withEffort(ANTHROPIC, 'claude-opus-4-6', 'minimal')).output_config, { effort: 'low' });
  });

  check('is a budget, on top of the answer, for a model of Anthropic that knows no efforts', async () => {
    const bodies = await Promise.all(
      ['low', 'medium', 'high', 'xhigh'].map((effort) => withEffort(ANTHROPIC, 'claude-sonnet-4-5', effort)),
    );
    const budgets = bodies.map(({ thinking }) => (thinking as Body).budget_tokens);
    assert.equal(budgets, [6400, 19_200, 38_400, 57_600]);
    for (const [index, { thinking, max_tokens: most, output_config: config }] of bodies.entries()) {
      assert.is((thinking as Body).type, 'enabled');
      assert.equal([most, config], [1000 + Number(budgets[index]), undefined]);
    }
    assert.equal((await withEffort(ANTHROPIC, 'claude-sonnet-4-5', 'none')).thinking, { type: 'disabled' });
  });

  check('is overridden by the adapter’s own option', async () => {
    const own = { effort: 'low', thinking: { type: 'disabled' } };
    const body = await withEffort(ANTHROPIC, 'claude-opus-4-7', 'high', own);
    assert.equal([body.output_config, body.thinking], [{ effort: 'low' }, { type: 'disabled' }]);
  });

  check('reaches a model of another name through the adapter of OpenAI, and its system message stays one', async () => {
    for (const upstreamID of ['acme-large', 'gpt-oss:20b']) {
      const body = await withEffort(OPENAI, upstreamID, 'high');
      assert.is((body.reasoning as Body).effort, 'high');
      assert.is((body.input as Body[])[0]?.role, 'system');
    }
    // Of these the adapter knows better.
    assert.is((await withEffort(OPENAI, 'gpt-4o', 'high')).reasoning, undefined);
    const forced = await withEffort(OPENAI, 'acme-large', 'high', { forceReasoning: false });
    assert.is(forced.reasoning, undefined);
  });
});

describe('a budget for thinking', (check) => {
  const sonnet = { npm: ANTHROPIC, upstreamID: 'claude-sonnet-4-5', maxOutputTokens: 1000 };

  check('is left out where the thoughts before a call would be asked for, however it was chosen', async () => {
    for (const options of [{ reasoningEffort: 'low' }, { thinking: { type: 'enabled', budgetTokens: 2048 } }]) {
      assert.ok((await bodyFor({ ...sonnet, options })).thinking);
      const body = await bodyFor({ ...sonnet, options }, MIDDLE_OF_A_TURN);
      assert.equal([body.thinking, body.max_tokens], [undefined, 1000]);
      assert.ok(JSON.stringify(body.messages).includes('noon'));
    }
  });

  check('comes back with the next prompt', async () => {
    const next: readonly ModelMessage[] = [
      ...MIDDLE_OF_A_TURN,
      { role: 'assistant', text: 'Noon', calls: [] },
      { role: 'user', content: [{ kind: 'text', text: 'Thanks' }] },
    ];
    const body = await bodyFor({ ...sonnet, options: { reasoningEffort: 'low' } }, next);
    assert.equal(body.thinking, { type: 'enabled', budget_tokens: 6400 });
  });

  check('is not what an effort is, which holds for every step', async () => {
    const options = { reasoningEffort: 'low' };
    const body = await bodyFor({ ...sonnet, upstreamID: 'claude-opus-4-7', options }, MIDDLE_OF_A_TURN);
    assert.equal([body.thinking, body.output_config], [{ type: 'adaptive', display: 'summarized' }, { effort: 'low' }]);
  });
});

describe('a temperature', (check) => {
  for (const npm of ADAPTERS) {
    check(`is sent, and so is top_p (${npm})`, async () => {
      assert.is((await bodyFor({ npm, temperature: 0.5 })).temperature, 0.5);
      assert.is((await bodyFor({ npm, topP: 0.25 })).top_p, 0.25);
    });
  }
});

describe('what an adapter keeps from a model', (check) => {
  check('is reported, once, and without a value', async () => {
    const { handler, control } = createControlledModel({ clock: createFakeClock() });
    const reported: string[] = [];
    const model = createAiModel({
      fetcher: (url, init) => handler(new Request(url, init)),
      clock: createFakeClock(),
      version: '1',
      onUnsupported: (sentence) => reported.push(sentence),
    });
    const asks: readonly Partial<ModelTarget>[] = [
      { npm: OPENAI, upstreamID: 'o3', temperature: 0.123 },
      { npm: OPENAI, upstreamID: 'o3', temperature: 0.123 },
      { npm: ANTHROPIC, upstreamID: 'claude-opus-4-6', temperature: 0.123, topP: 0.456 },
      { npm: COMPATIBLE, temperature: 0.5, topP: 0.5, options: { made: 'up' } },
    ];
    for (const more of asks) {
      control.addReply('fine');
      await collected(model(question({ target: target(more), tools: TOOLS }), new AbortController().signal));
    }
    assert.equal(reported, [
      '@ai-sdk/openai does not send temperature as it is set to the model o3 of acme',
      '@ai-sdk/anthropic does not send topP as it is set to the model claude-opus-4-6 of acme',
    ]);
  });
});

describe('the options that an adapter takes', (check) => {
  check('are those that it has, and of Anthropic the effort besides', () => {
    const ofOpenAI: Same<Listed<typeof OPENAI>, keyof OpenAILanguageModelResponsesOptions> = true;
    const ofAnthropic: Same<Listed<typeof ANTHROPIC>, keyof AnthropicLanguageModelOptions | 'reasoningEffort'> = true;
    assert.ok(ofOpenAI && ofAnthropic);
  });
});
