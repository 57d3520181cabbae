import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { replying } from '../../agent/harness/world.ts';
import { describe, rejection } from '../../check.ts';
import { type BridgeWorld, KEY, OTHER_KEY, prompts, withBridge } from '../harness/world.ts';

const clientOf = (world: BridgeWorld, apiKey = KEY): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });
const withClient = (body: (client: OpenAI, world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: Array(6).fill(replying('Well.')) }, (world) => body(clientOf(world), world));
const failureOf = async (promise: PromiseLike<unknown>) => {
  const error = (await rejection(Promise.resolve(promise))) as APIError;
  assert.instance(error, APIError);
  return `${error.status} ${error.code} ${error.param ?? ''}`.trim();
};

const said = (role: 'user' | 'assistant', content: string) => ({ type: 'message' as const, role, content });
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

describe('the input of a response', (check) => {
  check('is listed as its client sent it: what was earlier, the prompt and its images', () =>
    withClient(async (client) => {
      const image = { type: 'input_image' as const, detail: 'auto' as const, image_url: PIXEL };
      const prompt = { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Look' }, image] };
      const { id } = await client.responses.create({ input: [said('user', 'A'), said('assistant', 'B'), prompt] });
      const { data, has_more } = await client.responses.inputItems.list(id, { order: 'asc' });
      const lines = data.map((item) =>
        item.type === 'message' ? `${item.role} ${item.content.map(({ type }) => type).join(' ')}` : item.type,
      );
      assert.equal(
        [lines, has_more],
        [['user input_text', 'assistant output_text', 'user input_text input_image'], false],
      );
      const last = data.at(-1);
      assert.equal(last?.type === 'message' && last.content[1], { ...image, file_id: null });
      const [newest] = (await client.responses.inputItems.list(id, { limit: 1 })).data;
      assert.equal(newest, last);
    }),
  );

  check('of one that continues another is what it brought itself', () =>
    withClient(async (client) => {
      const first = await client.responses.create({ input: 'One' });
      const second = await client.responses.create({ input: 'Two', previous_response_id: first.id });
      for (const [{ id }, words] of [
        [first, 'One'],
        [second, 'Two'],
      ] as const) {
        const texts: string[] = [];
        for await (const item of client.responses.inputItems.list(id))
          if (item.type === 'message' && item.content[0]?.type === 'input_text') texts.push(item.content[0].text);
        assert.equal(texts, [words]);
      }
    }),
  );

  check('is not there for another key, nor for a response that is not there', () =>
    withClient(async (client, world) => {
      const { id } = await client.responses.create({ input: 'One' });
      assert.is(await failureOf(clientOf(world, OTHER_KEY).responses.inputItems.list(id)), '404 not_found');
      assert.is(await failureOf(client.responses.inputItems.list('resp_none_000000000000')), '404 not_found');
    }),
  );
});

describe('the tokens of an input', (check) => {
  check('are estimated, more for more text, and nothing is asked of a model', () =>
    withClient(async (client, world) => {
      const count = async (body: OpenAI.Responses.InputTokenCountParams) =>
        (await client.responses.inputTokens.count(body)).input_tokens;
      assert.is(await count({ input: 'x'.repeat(400) }), 100);
      assert.is(await count({ input: '字'.repeat(400) }), 300);
      assert.is(await count({ instructions: 'x'.repeat(40) }), 10);
      assert.is(
        await count({ input: [said('user', 'x'.repeat(40)), said('assistant', 'y'.repeat(40)), said('user', 'z')] }),
        21,
      );
      const answer = await client.responses.inputTokens.count({ input: 'hi' });
      assert.equal(answer as object, {
        object: 'response.input_tokens',
        input_tokens: 1,
        gatehouse: { is_estimate: true },
      });
      assert.is(prompts(world).length, 0);
    }),
  );

  check('are refused where a response would be: an unknown model, nothing to count, a value of another type', () =>
    withClient(async (client, world) => {
      const refusal = (body: OpenAI.Responses.InputTokenCountParams) =>
        failureOf(client.responses.inputTokens.count(body));
      assert.is(await refusal({ input: 'hi', model: 'no/model' }), '404 model_not_found model');
      assert.is(await refusal({}), '400 missing_required_parameter input');
      assert.is(await refusal({ input: [] }), '400 empty_array input');
      assert.is(prompts(world).length, 0);
    }),
  );

  check('begin with what the provider counted for the conversation', () =>
    withClient(async (client) => {
      const { id: conversation } = await client.conversations.create();
      const { id, usage } = await client.responses.create({ input: 'One', conversation });
      const before = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
      assert.ok(before > 0);
      const asked = { input: 'x'.repeat(40) };
      assert.is((await client.responses.inputTokens.count({ ...asked, conversation })).input_tokens, before + 10);
      const after = await client.responses.inputTokens.count({ ...asked, previous_response_id: id });
      assert.is(after.input_tokens, before + 10);
      const unknown = client.responses.inputTokens.count({ ...asked, previous_response_id: 'resp_x_000000000000' });
      assert.is(await failureOf(unknown), '400 previous_response_not_found previous_response_id');
      const gone = client.responses.inputTokens.count({ ...asked, conversation: 'conv_x_000000000000' });
      assert.is(await failureOf(gone), '404 not_found');
      assert.is((await client.responses.inputTokens.count({ ...asked, conversation: 'new-one' })).input_tokens, 10);
    }),
  );
});

describe('the compaction of a conversation', (check) => {
  check('is not there, and the error says what to do; the client reads it once, as of an unknown path', () =>
    withClient(async (client, world) => {
      const refusal = await client.responses.compact({ model: null, input: 'One' }).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.instance(refusal, OpenAI.NotFoundError);
      const { code, type, message } = refusal as InstanceType<typeof OpenAI.NotFoundError>;
      assert.equal([code, type], ['not_found', 'invalid_request_error']);
      assert.match(message, /the agent summarises one that has become too long by itself\. Leave this request out/);
      assert.is(prompts(world).length, 0);
    }),
  );
});
