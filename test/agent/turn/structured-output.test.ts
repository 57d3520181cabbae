import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { STRUCTURED_OUTPUT } from '../../../src/agent/turn/structured-output.ts';
import { describe } from '../../check.ts';
import { ask, textOf } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  failing,
  outcome,
  prompt,
  replying,
  toolNamed,
} from '../harness/world.ts';

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'integer' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const FORMAT = { type: 'json_schema', schema: SCHEMA };
const OSLO = { city: 'Oslo', degrees: -3 };

const giving = (value: unknown) => calling({ name: STRUCTURED_OUTPUT, input: value });
const asking = async (world: AgentWorld, format: object = FORMAT) =>
  (await ask(world, await world.session(), 'How cold is it in Oslo?', { format })).info;
const withoutTools = { resolvedModel: { takesTools: false } };

describe('an answer in the form of a JSON Schema', (check) => {
  check('is the value that the model gives in a forced call', async () => {
    const world = await createAgentWorld({ scripts: [giving(OSLO)] });
    const { structured, finish, error } = await asking(world);
    assert.equal([structured, finish, error], [OSLO, 'stop', undefined]);
    const [request] = world.asked;
    assert.is(request?.toolChoice, 'required');
    assert.equal(request?.tools.at(-1)?.inputSchema, SCHEMA);
    assert.match(request?.system ?? '', STRUCTURED_OUTPUT);
  });

  check('comes after calls of other tools', async () => {
    const look = toolNamed('look', async () => outcome('-3 degrees'));
    const world = await createAgentWorld({
      scripts: [calling({ name: 'look', input: {} }), giving(OSLO)],
      tools: [look],
    });
    assert.equal((await asking(world)).structured, OSLO);
    assert.is(world.asked.length, 2);
  });

  check('needs no permission, whatever the rules say', async () => {
    for (const action of ['ask', 'deny'] as const) {
      const world = await createAgentWorld({
        scripts: [giving(OSLO)],
        rules: [{ permission: '*', pattern: '*', action }],
      });
      assert.equal((await asking(world)).structured, OSLO);
    }
  });

  check('is tried again after a value that does not fit, and the model is told why', async () => {
    const world = await createAgentWorld({ scripts: [giving({ city: 'Oslo', degrees: 'cold' }), giving(OSLO)] });
    assert.equal((await asking(world)).structured, OSLO);
    const last = world.asked[1]?.messages.at(-1);
    assert.ok(last?.role === 'tool');
    assert.match(last.results[0]?.output ?? '', /\/degrees: /);
    assert.is(last.results[0]?.isError, true);
  });

  check('is an error after so many tries', async () => {
    for (const [retryCount, calls] of [
      [0, 1],
      [1, 2],
      [undefined, 3],
    ] as const) {
      const scripts = ['a', 'b', 'c', 'd'].map((degrees) => giving({ city: 'Oslo', degrees }));
      const world = await createAgentWorld({ scripts });
      const { error, structured, finish } = await asking(world, { ...FORMAT, retryCount });
      assert.is(structured, undefined);
      assert.is(finish, 'error');
      assert.ok(error?.name === 'StructuredOutputError');
      assert.is(error.data.retries, retryCount ?? 2);
      assert.match(error.data.message, /\/degrees/);
      assert.is(world.asked.length, calls);
    }
  });

  check('is an error after so many calls whose arguments cannot be read', async () => {
    const scripts = ['{', '{"city', '{"city":', '{"city":"Oslo"'].map((raw) =>
      calling({ name: STRUCTURED_OUTPUT, input: undefined, raw }),
    );
    const world = await createAgentWorld({ scripts: [...scripts, giving(OSLO)] });
    const { error } = await asking(world);
    assert.ok(error?.name === 'StructuredOutputError');
    assert.match(error.data.message, 'no JSON object');
    assert.is(world.asked.length, 3);
  });

  check('is no text that is nested too deeply to be stored', async () => {
    const deep = `${'{"a":'.repeat(20_000)}{}${'}'.repeat(20_000)}`;
    const world = await createAgentWorld({ scripts: [replying(deep), giving({ city: 'Oslo' })] });
    const { structured, error } = await asking(world, { type: 'json_schema', schema: { type: 'object' } });
    assert.equal([structured, error], [{ city: 'Oslo' }, undefined]);
  });

  check('is given to a tool with properties, which some backends require', async () => {
    const world = await createAgentWorld({ scripts: [giving({})] });
    await asking(world, { type: 'json_schema', schema: { type: 'object' } });
    assert.equal(world.asked[0]?.tools.at(-1)?.inputSchema, { type: 'object', properties: {} });
  });

  check('may come as a text, where a backend cannot force a call', async () => {
    for (const text of [JSON.stringify(OSLO), `\`\`\`json\n${JSON.stringify(OSLO, null, 2)}\n\`\`\``]) {
      const world = await createAgentWorld({ scripts: [replying(text)] });
      assert.equal((await asking(world)).structured, OSLO);
      assert.is(world.asked.length, 1);
    }
  });

  check('is asked for again after a text that is none', async () => {
    const world = await createAgentWorld({ scripts: [replying('It is cold.'), giving(OSLO)] });
    assert.equal((await asking(world)).structured, OSLO);
    const last = world.asked[1]?.messages.at(-1);
    assert.ok(last?.role === 'user');
    assert.match(JSON.stringify(last.content), STRUCTURED_OUTPUT);
    assert.is(world.asked[0]?.messages.length, 1);
  });

  check('is asked for in words from a model without tools', async () => {
    const world = await createAgentWorld({
      ...withoutTools,
      scripts: [replying('cold'), replying(JSON.stringify(OSLO))],
    });
    assert.equal((await asking(world)).structured, OSLO);
    assert.equal(world.asked[0]?.tools, []);
    assert.match(world.asked[0]?.system ?? '', '"additionalProperties":false');
    const last = world.asked[1]?.messages.at(-1);
    assert.ok(last?.role === 'user' && last.content[0]?.kind === 'text');
    assert.match(last.content[0].text, '"additionalProperties":false');
  });

  check('is the only call that is left in the last step', async () => {
    let looks = 0;
    const look = toolNamed('look', async () => {
      looks += 1;
      return outcome('-3 degrees');
    });
    const both = calling({ name: 'look', input: {} }, { name: STRUCTURED_OUTPUT, input: OSLO });
    const world = await createAgentWorld({ scripts: [both], tools: [look], agents: [{ steps: 1 }] });
    assert.equal((await asking(world)).structured, OSLO);
    assert.is(looks, 0);
    assert.equal(
      world.asked[0]?.tools.map(({ name }) => name),
      [STRUCTURED_OUTPUT],
    );
    const late = await createAgentWorld({
      scripts: [calling({ name: 'look', input: {} })],
      tools: [look],
      agents: [{ steps: 1 }],
    });
    const { error } = await asking(late);
    assert.is(error?.name, 'StructuredOutputError');
    assert.is(looks, 0);
  });

  check('is not asked for in a summary', async () => {
    const full = failing(new ModelError('overflow', 'The context is full'));
    const world = await createAgentWorld({ scripts: [replying('one'), full, replying('Ann asks.'), giving(OSLO)] });
    const id = await world.session();
    await ask(world, id, 'Hello');
    const { info } = await ask(world, id, 'How cold?', { format: FORMAT });
    assert.equal(info.structured, OSLO);
    const asked = world.asked.map(({ system }) => system.includes(STRUCTURED_OUTPUT));
    assert.equal(asked, [false, true, false, true]);
  });

  check('is stored with its session, which goes on with a text', async () => {
    const world = await createAgentWorld({ scripts: [giving(OSLO), replying('Cold.')] });
    const id = await world.session();
    await ask(world, id, 'How cold?', { format: FORMAT });
    assert.is(textOf(await ask(world, id, 'In a word?')), 'Cold.');
    assert.is(world.asked[1]!.toolChoice, undefined);
    assert.is(world.asked[1]?.system.includes(STRUCTURED_OUTPUT), false);
  });

  check('is refused with a schema that cannot be used', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    for (const [format, path] of [
      [{ type: 'json_schema' }, 'format.schema'],
      [{ type: 'json_schema', schema: { type: 'array' } }, 'format.schema'],
      [{ type: 'json_schema', schema: { type: 'object', $ref: '#/none' } }, 'format.schema'],
      [{ type: 'json_schema', schema: { type: 'object', $id: 'http://[' } }, 'format.schema'],
      [{ type: 'json_schema', schema: { type: 'object', description: 'x'.repeat(70_000) } }, 'format.schema'],
      [{ type: 'json_schema', schema: SCHEMA, retryCount: 99 }, 'format.retryCount'],
      [{ type: 'xml' }, 'format.type'],
    ] as const) {
      const response = await world.call('POST', `/session/${id}/message`, prompt('Hello', { format }));
      const text = await response.text();
      assert.is(response.status, 400, text);
      assert.match(text, path);
      assert.not.match(text, 'expected check');
    }
    assert.is(world.asked.length, 0);
  });
});
