import * as assert from 'uvu/assert';
import { calling } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import { type BridgeWorld, prompts, SHOWN, user, withBridge } from '../harness/world.ts';

const KEYED = { 'idempotency-key': 'once' };
const CHAT = { messages: [user('hi')] };
const TOOL = { type: 'function', function: { name: 'greet', parameters: { type: 'object', properties: {} } } };
const FORCED = { ...CHAT, tools: [TOOL], tool_choice: 'required' };

const bodyOf = async (world: BridgeWorld, path: string, body: unknown): Promise<Record<string, unknown>> => {
  const response = await world.send(path, body, KEYED);
  assert.is(response.status, 200);
  return (await response.json()) as Record<string, unknown>;
};
/** The same request at the bridge that has answered it, and at another one that knows nothing. */
const askedThrice = async (world: BridgeWorld, path: string, body: unknown) => {
  const first = await bodyOf(world, path, body);
  const again = await bodyOf(world, path, body);
  const other = await world.restart();
  return { first, replays: [again, await bodyOf(other, path, body)] };
};

describe('an answer that is asked for again', (check) => {
  check('is the same in every member, also at another bridge', () =>
    withBridge({ scripts: [answering(() => 'Hello')] }, async (world) => {
      const { first, replays } = await askedThrice(world, '/v1/chat/completions', CHAT);
      assert.match(String(first.system_fingerprint), /^fp_[\w-]{10}$/);
      for (const replay of replays) assert.equal(replay, first);
      assert.is(prompts(world).length, 1);
    }),
  );

  check("has the same id for the call of a client's function", () =>
    withBridge({ scripts: [calling({ name: 'greet', input: {} })] }, async (world) => {
      const { first, replays } = await askedThrice(world, '/v1/chat/completions', FORCED);
      assert.match(JSON.stringify(first.choices), /"tool_calls":\[\{"id":"[0-9A-Za-z]{9}"/);
      for (const replay of replays) assert.equal(replay, first);
    }),
  );

  check('is a response with the same ids, output and usage', () =>
    withBridge({ scripts: [answering(() => 'Hello')] }, async (world) => {
      const { first, replays } = await askedThrice(world, '/v1/responses', { input: 'hi', temperature: 0.5 });
      for (const replay of replays) assert.equal({ ...replay, completed_at: first.completed_at }, first);
    }),
  );
});

const OTHER_MODELS = {
  providers: [{ id: 'demo', models: { main: { name: 'main', limit: { context: 2000 } } } }],
  default: { demo: 'main' },
};

describe('a response that is read again', (check) => {
  check('has the time of its request, whatever the clock of the agent says', () =>
    withBridge({ scripts: [answering(() => 'Hello')], aheadMs: [5000, 5000] }, async (world) => {
      const made = await bodyOf(world, '/v1/responses', { input: 'hi' });
      const again = await (await world.send(`/v1/responses/${made.id}`)).json();
      assert.is((again as Record<string, unknown>).created_at, made.created_at);
    }),
  );

  check('the values of its request: defaults', () =>
    withBridge({ scripts: [answering(() => 'Hello')] }, async (world) => {
      const made = await bodyOf(world, '/v1/responses', { input: 'hi', temperature: 0.5, instructions: 'Be short' });
      assert.equal([made.temperature, made.instructions], [0.5, 'Be short']);
      const again: Record<string, unknown> = await (await world.send(`/v1/responses/${made.id}`)).json();
      assert.equal([again.temperature, again.instructions], [null, null]);
      assert.equal(again.output, made.output);
    }),
  );
});

describe('the fingerprint of an answer', (check) => {
  const fingerprintOf = async (world: BridgeWorld, more: object = {}) =>
    ((await world.chat({ ...CHAT, ...more })).json as { system_fingerprint?: string }).system_fingerprint;
  const scripts = [answering(() => 'Hello')];

  check('is the same however the model is named, in each chunk and at another bridge', () =>
    withBridge({ scripts }, async (world) => {
      const main = await fingerprintOf(world);
      assert.is(await fingerprintOf(world, { model: 'main' }), main);
      assert.is(await fingerprintOf(await world.restart()), main);
      const chunks = await world.chunks(CHAT);
      for (const chunk of chunks.slice(0, -1)) assert.is(JSON.parse(chunk).system_fingerprint, main);
    }),
  );

  check('is another one when the agent shows other settings of the model', () =>
    withBridge({ scripts }, (one) =>
      withBridge({ scripts, changes: { configViews: { ...SHOWN, configProviders: OTHER_MODELS } } }, async (other) => {
        assert.is.not(await fingerprintOf(one), await fingerprintOf(other));
      }),
    ),
  );
});
