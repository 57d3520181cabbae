import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import {
  askWithTools,
  callIDsOf,
  callsOf,
  clientTools,
  clockCall,
  errorOf,
  giveResults,
  sessionAt,
  weatherCall,
} from '../../harness/client-tools.ts';
import { answersIn, asksWhen, messagesOf, reply } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, prompt, replying, toolNamed } from '../../harness/world.ts';
import { idle, lastOf } from './world.ts';

describe('tools that run at the client', (check) => {
  check('are offered beside those of the agent, and a call ends the turn for now', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall)], tools: [toolNamed('desk_find')] });
    const id = await world.session();
    const answer = await askWithTools(world, id);
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
    assert.equal((await sessionAt(world, id)).awaitedCalls?.callIDs, [call?.callID]);
    assert.equal(await world.get('/session/status'), {});
    assert.equal(await world.store.owed(), []);
  });

  check('are not called with arguments that do not fit: the model tries again', async () => {
    const world = await createAgentWorld({
      scripts: [calling({ name: 'weather', input: { city: 7 } }), calling(weatherCall)],
    });
    const id = await world.session();
    const answer = await askWithTools(world, id);
    const [first] = answersIn(await messagesOf(world, id));
    const [refused] = first === undefined ? [] : callsOf(first);
    assert.is(refused?.state.status, 'error');
    assert.match(errorOf(refused) ?? '', 'do not fit the schema');
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
      scripts: [calling(weatherCall, { name: 'desk_find', input: {} })],
      tools: [own],
      rules: [
        { permission: '*', pattern: '*', action: 'deny' },
        { permission: 'desk_find', pattern: '*', action: 'allow' },
      ],
    });
    const id = await world.session();
    const answer = await askWithTools(world, id);
    assert.is(ran, 1);
    assert.equal(
      callsOf(answer).map(({ tool, state }) => [tool, state.status]),
      [
        ['weather', 'running'],
        ['desk_find', 'completed'],
      ],
    );
  });

  check('are not called where an abort ends the step, or another call of it ends the turn', async () => {
    const desk = { name: 'desk_find', input: {} };
    const started = Promise.withResolvers<void>();
    const hangingTool = toolNamed('desk_find', async (_input, { signal }) => {
      started.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const world = await createAgentWorld({ scripts: [calling(weatherCall, desk)], tools: [hangingTool] });
    const id = await world.session();
    const asking = askWithTools(world, id);
    await started.promise;
    await world.post(`/session/${id}/abort`);
    const aborted = await asking;
    assert.equal(callsOf(aborted).map(errorOf), ['The call was aborted', 'The call was aborted']);
    assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
    const results = [{ callID: callIDsOf(aborted)[0], output: 'rain' }];
    assert.is((await world.call('POST', `/session/${id}/client-tool-results`, { results })).status, 404);

    const asksFirst = await createAgentWorld({
      scripts: [calling(weatherCall, desk)],
      tools: [toolNamed('desk_find')],
      rules: [{ permission: '*', pattern: '*', action: 'ask' }],
    });
    const other = await asksFirst.session();
    const answer = askWithTools(asksFirst, other);
    const [request] = await asksWhen(asksFirst, 1);
    await reply(asksFirst, request, { reply: 'reject' });
    const rejected = await answer;
    assert.match(errorOf(callsOf(rejected)[0]) ?? '', 'The turn ended with another call');
    assert.is((await sessionAt(asksFirst, other)).awaitedCalls, undefined);
  });

  check('may be called one at a time', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall, clockCall)] });
    const id = await world.session();
    const answer = await askWithTools(world, id, clientTools({ parallel: false }));
    assert.equal(
      callsOf(answer).map(({ state }) => state.status),
      ['running', 'error'],
    );
  });

  check('are forced until one is called', async () => {
    const world = await createAgentWorld({
      scripts: [calling({ name: 'desk_find', input: {} }), calling(weatherCall), replying('done')],
      tools: [toolNamed('desk_find')],
    });
    const id = await world.session();
    const [call] = callsOf(await askWithTools(world, id, clientTools({ choice: 'required' })));
    assert.equal(
      world.asked.map(({ toolChoice }) => toolChoice),
      ['required', 'required'],
    );
    await giveResults(world, id, [{ callID: call?.callID, output: 'rain' }]);
    await idle(world);
    assert.is(world.asked[2]!.toolChoice, undefined);
  });

  check('have their steps counted on, and the last one makes no calls', async () => {
    const world = await createAgentWorld({
      scripts: [calling(weatherCall), calling(weatherCall), calling(weatherCall)],
      agents: [{ name: 'short', steps: 3 }],
    });
    const id = await world.session();
    const [first] = callIDsOf(await askWithTools(world, id, { agent: 'short', ...clientTools() }));
    await giveResults(world, id, [{ callID: first, output: 'rain' }]);
    await idle(world);
    await giveResults(world, id, [{ callID: callIDsOf(await lastOf(world, id))[0], output: 'rain' }]);
    await idle(world);
    assert.equal(
      world.asked.map(({ toolChoice }) => toolChoice),
      [undefined, undefined, 'none'],
    );
    assert.equal(
      callsOf(await lastOf(world, id)).map(({ state }) => state.status),
      ['error'],
    );
    assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
  });

  check('may be forced in the last step, and the result gets an answer without calls', async () => {
    const world = await createAgentWorld({
      scripts: [calling(weatherCall), replying('It rains.')],
      agents: [{ name: 'brief', steps: 1 }],
    });
    const id = await world.session();
    const forced = { agent: 'brief', ...clientTools({ choice: { name: 'weather' } }) };
    const [callID] = callIDsOf(await askWithTools(world, id, forced));
    await giveResults(world, id, [{ callID, output: 'rain' }]);
    await idle(world);
    assert.equal(
      world.asked.map(({ toolChoice, tools, system }) => [
        toolChoice,
        tools.map(({ name }) => name),
        system.includes('no tools are left'),
      ]),
      [
        [{ name: 'weather' }, ['weather'], false],
        ['none', ['weather', 'clock'], true],
      ],
    );
  });

  check('are not given to the sessions of tasks', async () => {
    const task = { name: 'task', input: { description: 'look', prompt: 'look', subagent_type: 'helper' } };
    const world = await createAgentWorld({
      scripts: [calling(task), replying('seen'), replying('done')],
      agents: [{ name: 'helper', canTakeTasks: true }],
    });
    await askWithTools(world, await world.session());
    assert.equal(
      world.asked.map(({ tools }) => tools.map(({ name }) => name).includes('weather')),
      [true, false, true],
    );
  });

  check('are not offered to a model without tools, nor with the choice none', async () => {
    const withoutTools = await createAgentWorld({ resolvedModel: { takesTools: false } });
    await askWithTools(withoutTools, await withoutTools.session());
    const world = await createAgentWorld();
    await askWithTools(world, await world.session(), clientTools({ choice: 'none' }));
    assert.equal([withoutTools.asked[0]?.tools, world.asked[0]?.tools], [[], []]);
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
