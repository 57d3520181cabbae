import * as assert from 'uvu/assert';
import type { AssistantMessage, Part, Session, ToolPart } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { type AgentWorld, calling, createAgentWorld, prompt, replying, toolNamed } from '../harness/world.ts';

type Stored = { readonly info: AssistantMessage; readonly parts: readonly Part[] };
type Taken = { readonly accepted: string[]; readonly settled: string[]; readonly waiting: string[] };

const WEATHER = {
  name: 'weather',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const CLOCK = { name: 'clock', inputSchema: { type: 'object' } };
const clientTools = (more: object = {}) => ({ clientTools: { tools: [WEATHER, CLOCK], ...more } });
const weather = { name: 'weather', input: { city: 'Oslo' } };
const clockCall = { name: 'clock', input: {} };

const callsOf = ({ parts }: Stored): readonly ToolPart[] => parts.filter((part) => part.type === 'tool');
const ask = async (world: AgentWorld, id: string, more: object = clientTools()): Promise<Stored> =>
  (await world.post(`/session/${id}/message`, prompt('what is the weather?', { ...more }))) as Stored;
const messagesOf = async (world: AgentWorld, id: string) => (await world.get(`/session/${id}/message`)) as Stored[];
const lastOf = async (world: AgentWorld, id: string): Promise<Stored> => {
  const last = (await messagesOf(world, id)).at(-1);
  if (last === undefined) throw new Error('no message');
  return last;
};
const give = async (world: AgentWorld, id: string, results: readonly object[], more: object = {}): Promise<Taken> =>
  (await world.post(`/session/${id}/client-tool-results`, { results, ...more })) as Taken;
const idle = async (world: AgentWorld): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    if (Object.keys((await world.get('/session/status')) as object).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error('still busy');
};
const sessionOf = async (world: AgentWorld, id: string) => (await world.get(`/session/${id}`)) as Session;

describe('tools that run at the client', (check) => {
  check('are offered beside those of the agent, and a call ends the turn for now', async () => {
    const world = await createAgentWorld({ scripts: [calling(weather)], tools: [toolNamed('desk_find')] });
    const id = await world.session();
    const answer = await ask(world, id);
    assert.equal(
      world.asked[0]?.tools.map(({ name }) => name),
      ['desk_find', 'weather', 'clock'],
    );
    assert.is(answer.info.finish, 'tool-calls');
    assert.is(answer.info.error, undefined);
    const [call] = callsOf(answer);
    assert.match(call?.callID ?? '', /^[A-Za-z0-9]{9}$/);
    assert.equal(call?.state, {
      status: 'running',
      input: { city: 'Oslo' },
      title: 'weather',
      metadata: { clientTool: true, expiresAt: world.clock.now() + 86_400_000 },
      time: { start: world.clock.now() },
    });
    assert.equal((await sessionOf(world, id)).awaitedCalls?.callIDs, [call?.callID]);
    assert.equal(await world.get('/session/status'), {});
    assert.equal(await world.store.owed(), []);
  });

  check('give a result with which the same turn goes on', async () => {
    const world = await createAgentWorld({ scripts: [calling(weather), replying('It rains.')] });
    const id = await world.session();
    const paused = await ask(world, id);
    const [call] = callsOf(paused);
    const callID = call?.callID ?? '';
    assert.equal(await give(world, id, [{ callID, output: 'rain' }]), { accepted: [callID], settled: [], waiting: [] });
    await idle(world);
    const answer = await lastOf(world, id);
    assert.is(answer.info.parentID, paused.info.parentID);
    assert.is(answer.parts.find((part) => part.type === 'text')?.text, 'It rains.');
    assert.equal(world.asked[1]?.messages.at(-1), {
      role: 'tool',
      results: [{ id: callID, name: 'weather', output: 'rain', isError: false }],
    });
    assert.is((await sessionOf(world, id)).awaitedCalls, undefined);
  });

  check('count with their first result, and a result that is sent again starts nothing', async () => {
    const world = await createAgentWorld({ scripts: [calling(weather, clockCall), replying('done')] });
    const id = await world.session();
    const [first, second] = callsOf(await ask(world, id)).map(({ callID }) => callID);
    const one = [{ callID: first, output: 'rain' }];
    assert.equal(await give(world, id, one), { accepted: [first], settled: [], waiting: [second] });
    assert.equal(await give(world, id, [{ callID: first, output: 'snow' }]), {
      accepted: [],
      settled: [first],
      waiting: [second],
    });
    assert.is(world.asked.length, 1);
    const both = [
      { callID: first, output: 'hail' },
      { callID: second, output: 'noon', isError: true },
    ];
    assert.equal(await give(world, id, both), { accepted: [second], settled: [first], waiting: [] });
    assert.equal(await give(world, id, both), { accepted: [], settled: [first, second], waiting: [] });
    await idle(world);
    assert.is(world.asked.length, 2);
    assert.equal(world.asked[1]?.messages.at(-1), {
      role: 'tool',
      results: [
        { id: first, name: 'weather', output: 'rain', isError: false },
        { id: second, name: 'clock', output: 'noon', isError: true },
      ],
    });
  });

  check('are not called with arguments that do not fit: the model tries again', async () => {
    const world = await createAgentWorld({
      scripts: [calling({ name: 'weather', input: { city: 7 } }), calling(weather)],
    });
    const id = await world.session();
    const answer = await ask(world, id);
    const [refused] = callsOf((await messagesOf(world, id))[1] as Stored);
    assert.is(refused?.state.status, 'error');
    assert.match(refused?.state.status === 'error' ? refused.state.error : '', 'do not fit the schema');
    assert.is(callsOf(answer)[0]?.state.status, 'running');
    const unknown = await world.call('POST', `/session/${id}/client-tool-results`, {
      results: [{ callID: refused?.callID, output: 'x' }],
    });
    assert.is(unknown.status, 404);
  });

  check('wait until the calls of the agent have ended', async () => {
    let ran = 0;
    const own = toolNamed('desk_find', async () => {
      ran += 1;
      return { output: 'found', title: '', metadata: {}, isError: false };
    });
    const world = await createAgentWorld({
      scripts: [calling(weather, { name: 'desk_find', input: {} })],
      tools: [own],
      rules: [
        { permission: '*', pattern: '*', action: 'deny' },
        { permission: 'desk_find', pattern: '*', action: 'allow' },
      ],
    });
    const id = await world.session();
    const answer = await ask(world, id);
    assert.is(ran, 1);
    assert.equal(
      callsOf(answer).map(({ tool, state }) => [tool, state.status]),
      [
        ['weather', 'running'],
        ['desk_find', 'completed'],
      ],
    );
  });

  check('may be called one at a time', async () => {
    const world = await createAgentWorld({ scripts: [calling(weather, clockCall)] });
    const id = await world.session();
    const answer = await ask(world, id, clientTools({ parallel: false }));
    assert.equal(
      callsOf(answer).map(({ state }) => state.status),
      ['running', 'error'],
    );
  });

  check('are forced until one is called', async () => {
    const world = await createAgentWorld({
      scripts: [calling({ name: 'desk_find', input: {} }), calling(weather), replying('done')],
      tools: [toolNamed('desk_find')],
    });
    const id = await world.session();
    const [call] = callsOf(await ask(world, id, clientTools({ choice: 'required' })));
    assert.equal(
      world.asked.map(({ toolChoice }) => toolChoice),
      ['required', 'required'],
    );
    await give(world, id, [{ callID: call?.callID, output: 'rain' }]);
    await idle(world);
    assert.is(world.asked[2]?.toolChoice, undefined);
  });

  check('are refused under a name that is taken, twice the same name, or with a choice of none of them', async () => {
    const world = await createAgentWorld({ tools: [toolNamed('desk_find')] });
    const id = await world.session();
    const named = (...names: string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    for (const [given, param] of [
      [{ tools: named('ok', 'desk_find') }, 'clientTools.tools[1].name'],
      [{ tools: named('task') }, 'clientTools.tools[0].name'],
      [{ tools: named('StructuredOutput') }, 'clientTools.tools[0].name'],
      [{ tools: named('a', 'a') }, 'clientTools.tools[1].name'],
      [{ tools: named('a b') }, 'clientTools.tools[0].name'],
      [{ tools: named('a'), choice: { name: 'b' } }, 'clientTools.choice.name'],
      [{ tools: [{ name: 'a', inputSchema: { type: 'array' } }] }, 'clientTools.tools[0].inputSchema'],
    ] as const) {
      const response = await world.call('POST', `/session/${id}/message`, prompt('hi', { clientTools: given }));
      assert.is(response.status, 400, param);
      const { data } = (await response.json()) as { data: { code: string; path: string } };
      assert.equal([data.code, data.path], ['invalid_body', param]);
    }
    assert.equal(await messagesOf(world, id), []);
  });
});
