import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { STRUCTURED_OUTPUT_CALL } from '../../../src/bridge/stream/structured.ts';
import { calling, outcome, replying, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { idIn, pay, paying } from '../harness/recharge-world.ts';
import { assistant, type BridgeGiven, type BridgeWorld, dataIn, KEY, user, withBridge } from '../harness/world.ts';

const SCHEMA = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, degrees: { type: 'integer' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const OSLO = { city: 'Oslo', degrees: -3 };
const MESSAGES = [{ role: 'user' as const, content: 'How cold is it in Oslo?' }];
const CHAT = { model: 'demo/main', messages: MESSAGES };
const FORMAT = { type: 'json_schema' as const, json_schema: { name: 'weather', strict: true, schema: SCHEMA } };
const TOOL = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } };
const FORCED = { type: 'function' as const, function: { name: 'weather' } };

/** A model that obeys where a call of the client's function is forced. */
const obeying = (value: unknown): Script => calling({ name: 'weather', input: value });
const giving = (value: unknown): Script => calling({ name: STRUCTURED_OUTPUT_CALL, input: value });
const look = toolNamed('look', async () => outcome('-3 degrees'));
const given = (...scripts: readonly Script[]): BridgeGiven => ({ scripts, tools: [look] });
const usual = given(calling({ name: 'look', input: {} }), giving(OSLO));

const fetchOf =
  ({ bridge }: BridgeWorld): typeof fetch =>
  async (input, init) =>
    bridge.handler(new Request(input as string, init));
const clientOf = (world: BridgeWorld) =>
  new OpenAI({ apiKey: KEY, baseURL: 'http://bridge.test/v1', fetch: fetchOf(world), maxRetries: 0 });

describe('structured outputs', (check) => {
  check('come in a chat as one JSON value, after calls of the agent', () =>
    withBridge(usual, async (world) => {
      const { choices } = await clientOf(world).chat.completions.create({ ...CHAT, response_format: FORMAT });
      assert.equal(JSON.parse(choices[0]?.message.content ?? ''), OSLO);
      assert.is(choices[0]?.finish_reason, 'stop');
      assert.is(choices[0]?.message.refusal, null);
    }),
  );

  check('keep members whose names every object has', () => {
    const race = JSON.parse('{"constructor":"Ferrari","prototype":"no","__proto__":"x","toString":"y"}');
    const names = Object.keys(race);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: names,
    };
    const format = { type: 'json_schema' as const, json_schema: { name: 'race', schema } };
    return withBridge(given(giving(race)), async (world) => {
      const { choices } = await clientOf(world).chat.completions.create({ ...CHAT, response_format: format });
      assert.is(choices[0]?.message.content, JSON.stringify(race));
    });
  });

  check('come in a stream whole, and with nothing before them', () =>
    withBridge(given(replying('It is cold.'), giving(OSLO)), async (world) => {
      const stream = clientOf(world).chat.completions.stream({ ...CHAT, response_format: FORMAT });
      assert.is(await stream.finalContent(), JSON.stringify(OSLO));
    }),
  );

  check('come in a response, streamed or not', () =>
    withBridge(given(giving(OSLO)), async (world) => {
      const request = {
        model: 'demo/main',
        input: 'How cold?',
        text: { format: { type: 'json_schema' as const, name: 'weather', schema: SCHEMA } },
      };
      const { responses } = clientOf(world);
      const whole = await responses.create(request);
      assert.equal(JSON.parse(whole.output_text), OSLO);
      assert.is(whole.text?.format?.type, 'json_schema');
      const final = await responses.stream(request).finalResponse();
      assert.equal(JSON.parse(final.output_text), OSLO);
    }),
  );

  check('are tried again once, and then are a refusal that says what did not fit', () =>
    withBridge(given(giving({ city: 'Oslo', degrees: 'cold' })), async (world) => {
      const { choices } = await clientOf(world).chat.completions.create({ ...CHAT, response_format: FORMAT });
      assert.is(choices[0]?.message.content, null);
      assert.match(choices[0]?.message.refusal ?? '', /^The model gave no answer that fits the schema: \/degrees: /);
      assert.is(world.agent.asked.length, 2);
      const events: string[] = [];
      const stream = await clientOf(world).responses.create({
        model: 'demo/main',
        input: 'How cold?',
        stream: true,
        text: { format: { type: 'json_schema', name: 'weather', schema: SCHEMA } },
      });
      for await (const event of stream) if (event.type.includes('refusal')) events.push(event.type);
      assert.equal(events, ['response.refusal.delta', 'response.refusal.done']);
      const chunks = dataIn(
        await (await world.send('/v1/chat/completions', { ...CHAT, stream: true, response_format: FORMAT })).text(),
      );
      assert.match(chunks.join('\n'), '"delta":{"refusal":"The model gave no answer');
    }),
  );

  for (const [form, more] of [
    ['the same form', { response_format: FORMAT }],
    ['none', {}],
  ] as const)
    check(`come after an approval that asks for ${form}`, () =>
      withBridge(paying([pay(5), giving(OSLO)]).given, async (world) => {
        const first = await world.chat({ ...CHAT, response_format: FORMAT });
        assert.match(first.text, 'asks for approval');
        const messages = [...MESSAGES, assistant(first.text), user(`approve ${idIn(first.text)}`)];
        assert.is((await world.chat({ messages, ...more })).text, JSON.stringify(OSLO));
      }),
    );

  check('come as the call of the function that the client forces', () =>
    withBridge(given(obeying(OSLO)), async (world) => {
      const client = clientOf(world);
      const forced = { ...CHAT, tools: [TOOL], tool_choice: FORCED };
      const { choices } = await client.chat.completions.create(forced);
      assert.is(choices[0]?.finish_reason, 'tool_calls');
      const [call] = choices[0]?.message.tool_calls ?? [];
      assert.ok(call?.type === 'function');
      assert.equal([call.function.name, JSON.parse(call.function.arguments)], ['weather', OSLO]);
      const streamed = await client.chat.completions.stream(forced).finalChatCompletion();
      const [same] = streamed.choices[0]?.message.tool_calls ?? [];
      assert.ok(same?.type === 'function');
      assert.equal([same.function.name, streamed.choices[0]?.finish_reason], ['weather', 'tool_calls']);
      const response = await client.responses
        .stream({
          model: 'demo/main',
          input: 'How cold?',
          tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: true }],
          tool_choice: 'required',
        })
        .finalResponse();
      const item = response.output.find(({ type }) => type === 'function_call');
      assert.ok(item?.type === 'function_call');
      assert.equal([item.name, JSON.parse(item.arguments), item.status], ['weather', OSLO, 'completed']);
    }),
  );

  check('go on with what the client says of such a call', () =>
    withBridge(given(obeying({ city: 'Oslo', degrees: 99 }), obeying(OSLO)), async (world) => {
      const client = clientOf(world);
      const forced = { ...CHAT, tools: [TOOL], tool_choice: FORCED };
      const first = await client.chat.completions.create(forced);
      const message = first.choices[0]?.message;
      const [call] = message?.tool_calls ?? [];
      assert.ok(message !== undefined && call !== undefined);
      const error = { role: 'tool' as const, tool_call_id: call.id, content: 'degrees must be below 60' };
      const second = await client.chat.completions.create({ ...forced, messages: [...MESSAGES, message, error] });
      const [again] = second.choices[0]?.message.tool_calls ?? [];
      assert.ok(again?.type === 'function');
      assert.equal(JSON.parse(again.function.arguments), OSLO);
      assert.match(JSON.stringify(world.agent.asked[1]?.messages), 'degrees must be below 60');
    }),
  );

  check('are refused with a schema that cannot be used, before anything runs', () =>
    withBridge(usual, async (world) => {
      const broken = { type: 'json_schema', json_schema: { schema: { type: 'object', $ref: '#/none' } } };
      const response = await world.send('/v1/chat/completions', { ...CHAT, response_format: broken });
      assert.is(response.status, 400);
      assert.match(await response.text(), 'response_format.json_schema.schema');
      assert.is(world.agent.asked.length, 0);
    }),
  );
});
