import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { outcome, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { type BridgeGiven, type BridgeWorld, KEY, withBridge } from '../harness/world.ts';

/** A first step with a call and a second one with the answer. The agent's `input` and `output` are without the other tokens. */
const FIRST: Script = async function* () {
  yield { kind: 'reasoning', delta: 'Let me ' };
  yield { kind: 'reasoning', delta: 'look.' };
  yield { kind: 'call', id: 'c1', name: 'look', input: {}, raw: '{}' };
  const tokens = { input: 70, output: 10, reasoning: 5, cache: { read: 30, write: 20 }, total: 135 };
  yield { kind: 'finished', finish: 'tool-calls', tokens };
};
const SECOND: Script = async function* () {
  yield { kind: 'text', delta: 'Five.' };
  const tokens = { input: 10, output: 4, reasoning: 1, cache: { read: 100, write: 0 }, total: 115 };
  yield { kind: 'finished', finish: 'stop', tokens };
};
const WORLD: BridgeGiven = { scripts: [FIRST, SECOND], tools: [toolNamed('look', async () => outcome('5'))] };
const HIDDEN: BridgeGiven = { ...WORLD, settings: { showsReasoning: false } };
const INPUT_TOKENS = 120 + 110;
const OUTPUT_TOKENS = 15 + 5;

const fetchOf =
  ({ bridge }: BridgeWorld): typeof fetch =>
  async (input, init) =>
    bridge.handler(new Request(input as string, init));
const placeOf = (world: BridgeWorld) => ({ apiKey: KEY, baseURL: 'http://bridge.test/v1', fetch: fetchOf(world) });
const openaiOf = (world: BridgeWorld) => new OpenAI({ ...placeOf(world), maxRetries: 0 });
const CHAT = { model: 'demo/main', messages: [{ role: 'user' as const, content: 'How many?' }] };

type WithReasoning = { readonly reasoning_content?: string };

describe("OpenAI's own client", (check) => {
  check('reads the reasoning and the usage of a chat', () =>
    withBridge(WORLD, async (world) => {
      const { choices, usage } = await openaiOf(world).chat.completions.create(CHAT);
      assert.is((choices[0]?.message as WithReasoning | undefined)?.reasoning_content, 'Let me look.');
      assert.equal(usage, {
        prompt_tokens: INPUT_TOKENS,
        completion_tokens: OUTPUT_TOKENS,
        total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
        prompt_tokens_details: { cached_tokens: 130, cache_write_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 6 },
      });
    }),
  );

  check('reads the same of a stream', () =>
    withBridge(WORLD, async (world) => {
      const options = { ...CHAT, stream: true as const, stream_options: { include_usage: true } };
      let reasoning = '';
      let usage: OpenAI.CompletionUsage | null | undefined;
      for await (const chunk of await openaiOf(world).chat.completions.create(options)) {
        reasoning += (chunk.choices[0]?.delta as WithReasoning | undefined)?.reasoning_content ?? '';
        usage ??= chunk.usage;
      }
      assert.match(reasoning, 'Let me look.');
      assert.equal(
        [usage?.prompt_tokens, usage?.prompt_tokens_details?.cached_tokens, usage?.completion_tokens],
        [INPUT_TOKENS, 130, OUTPUT_TOKENS],
      );
    }),
  );

  check('reads the reasoning of a response as the summary of an item, whole and streamed', () =>
    withBridge(WORLD, async (world) => {
      const { output, usage } = await openaiOf(world).responses.create({ model: 'demo/main', input: 'How many?' });
      const [reasoning] = output;
      assert.equal(reasoning?.type === 'reasoning' && reasoning.summary, [
        { type: 'summary_text', text: 'Let me look.' },
      ]);
      assert.equal(usage, {
        input_tokens: INPUT_TOKENS,
        input_tokens_details: { cached_tokens: 130, cache_write_tokens: 20 },
        output_tokens: OUTPUT_TOKENS,
        output_tokens_details: { reasoning_tokens: 6 },
        total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
      });
    }),
  );

  check('reads the events of the reasoning of a streamed response', () =>
    withBridge(WORLD, async (world) => {
      const stream = openaiOf(world).responses.stream({ model: 'demo/main', input: 'How many?' });
      const events: string[] = [];
      let text = '';
      for await (const event of stream) {
        if (event.type.includes('reasoning')) events.push(event.type.replace('response.reasoning_summary_', ''));
        if (event.type === 'response.reasoning_summary_text.delta') text += event.delta;
      }
      assert.is(text, 'Let me look.');
      assert.equal([...new Set(events)], ['part.added', 'text.delta', 'text.done', 'part.done']);
      const [item] = (await stream.finalResponse()).output;
      assert.is(item?.type === 'reasoning' && item.summary[0]?.text, text);
    }),
  );

  check('gets no reasoning where that is hidden', () =>
    withBridge(HIDDEN, async (world) => {
      const stream = openaiOf(world).responses.stream({ model: 'demo/main', input: 'How many?' });
      for await (const event of stream) assert.not.match(event.type, 'reasoning');
      const { output, usage } = await stream.finalResponse();
      assert.not.ok(output.some(({ type }) => type === 'reasoning'));
      assert.is(usage?.output_tokens_details.reasoning_tokens, 6);
    }),
  );

  check('is told which service tier has answered, whichever it has asked for', () =>
    withBridge(WORLD, async (world) => {
      const openai = openaiOf(world);
      const tier = { service_tier: 'flex' as const };
      const chat = await openai.chat.completions.create({ ...CHAT, ...tier }).withResponse();
      const made = await openai.responses.create({ model: 'demo/main', input: 'Again', ...tier }).withResponse();
      for (const { data, response } of [chat, made]) {
        assert.is(data.service_tier, 'default');
        assert.is(response.headers.get('x-gatehouse-ignored'), 'service_tier');
      }
    }),
  );

  check('shows the id of a request, of answers, streams and errors', () =>
    withBridge(WORLD, async (world) => {
      const openai = openaiOf(world);
      const answer = await openai.chat.completions.create(CHAT);
      assert.match(answer._request_id ?? '', /^req-/);
      const streamed = await openai.chat.completions.create({ ...CHAT, stream: true }).withResponse();
      assert.match(streamed.request_id ?? '', /^req-/);
      for await (const _ of streamed.data);
      const named = { headers: { 'x-request-id': 'mine-7' } };
      const response = await openai.responses.create({ model: 'demo/main', input: 'Again' }, named);
      assert.is(response._request_id, 'mine-7');
      const idOf = (failing: Promise<unknown>): Promise<string | null | undefined> =>
        failing.then(
          () => 'none',
          (error: unknown) => (error instanceof APIError ? error.requestID : 'no error of the API'),
        );
      assert.is(await idOf(openai.chat.completions.create({ ...CHAT, model: 'none' }, named)), 'mine-7');
      assert.is(await idOf(openai.responses.create({ input: [], stream: true }, named)), 'mine-7');
      assert.is(await idOf(openai.models.retrieve('none', named)), 'mine-7');
      const stranger = new OpenAI({ ...placeOf(world), apiKey: 'wrong', maxRetries: 0 });
      assert.is(await idOf(stranger.models.list(named)), 'mine-7');
      assert.is((await world.send('/nowhere', undefined, named.headers)).headers.get('x-request-id'), 'mine-7');
    }),
  );
});
