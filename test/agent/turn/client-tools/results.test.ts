import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import {
  askWithTools,
  callIDsOf,
  callsOf,
  clientTools,
  clockCall,
  giveResults,
  sessionAt,
  weatherCall,
} from '../../harness/client-tools.ts';
import { answersIn, messagesOf } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, type Script } from '../../harness/world.ts';
import { idle, lastOf } from './world.ts';

describe('tools that run at the client', (check) => {
  check('give a result with which the same turn goes on', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('It rains.')] });
    const id = await world.session();
    const paused = await askWithTools(world, id);
    const [call] = callsOf(paused);
    const callID = call?.callID ?? '';
    assert.equal(await giveResults(world, id, [{ callID, output: 'rain' }]), {
      accepted: [callID],
      settled: [],
      waiting: [],
    });
    await idle(world);
    const answer = await lastOf(world, id);
    assert.is(answer.info.parentID, paused.info.parentID);
    assert.is(answer.parts.find((part) => part.type === 'text')?.text, 'It rains.');
    assert.equal(world.asked[1]?.messages.at(-1), {
      role: 'tool',
      results: [{ id: callID, name: 'weather', output: 'rain', isError: false }],
    });
    assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
  });

  check('count with their first result, and a result that is sent again starts nothing', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall, clockCall), replying('done')] });
    const id = await world.session();
    const [first, second] = callIDsOf(await askWithTools(world, id));
    const one = [{ callID: first, output: 'rain' }];
    assert.equal(await giveResults(world, id, one), { accepted: [first], settled: [], waiting: [second] });
    assert.equal(await giveResults(world, id, [{ callID: first, output: 'snow' }]), {
      accepted: [],
      settled: [first],
      waiting: [second],
    });
    assert.is(world.asked.length, 1);
    const both = [
      { callID: first, output: 'hail' },
      { callID: second, output: 'noon', isError: true },
    ];
    assert.equal(await giveResults(world, id, both), { accepted: [second], settled: [first], waiting: [] });
    assert.equal(await giveResults(world, id, both), { accepted: [], settled: [first, second], waiting: [] });
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

  check('go on with the instructions that come with the results, and else with those of the prompt', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), calling(weatherCall), replying('done')] });
    const id = await world.session();
    const [first] = callIDsOf(await askWithTools(world, id, { system: 'You are the desk.', ...clientTools() }));
    await giveResults(world, id, [{ callID: first, output: 'rain' }]);
    await idle(world);
    const [second] = callIDsOf(await lastOf(world, id));
    await giveResults(world, id, [{ callID: second, output: 'rain' }], { system: 'You are the forecast.' });
    await idle(world);
    const hasDesk = world.asked.map(({ system }) => JSON.stringify(system).includes('You are the desk.'));
    const hasForecast = world.asked.map(({ system }) => JSON.stringify(system).includes('You are the forecast.'));
    assert.equal(
      [hasDesk, hasForecast],
      [
        [true, true, false],
        [false, false, true],
      ],
    );
  });

  check('have results that a summary covers where the context is full, and the turn goes on', async () => {
    const world = await createAgentWorld({
      scripts: [calling(weatherCall), replying('Rain was reported.'), replying('It rains.')],
      resolvedModel: { usableTokens: 15 },
    });
    const id = await world.session();
    const [callID] = callIDsOf(await askWithTools(world, id));
    await giveResults(world, id, [{ callID, output: 'rain' }]);
    await idle(world);
    assert.match(JSON.stringify(world.asked[1]?.messages), '"output":"rain"');
    assert.match(JSON.stringify(world.asked[2]?.messages), 'Rain was reported.');
    assert.is(answersIn(await messagesOf(world, id)).at(-1)!.info.error, undefined);
  });

  check('and a value that is asked for: the value ends the turn, and a call beside it is not made', async () => {
    const format = { type: 'json_schema', schema: { type: 'object', required: ['sky'] } };
    const value = { name: 'StructuredOutput', input: { sky: 'grey' } };
    const world = await createAgentWorld({ scripts: [calling(weatherCall), calling(weatherCall, value)] });
    const id = await world.session();
    const [callID] = callIDsOf(await askWithTools(world, id, { format, ...clientTools() }));
    await giveResults(world, id, [{ callID, output: 'clouds' }]);
    await idle(world);
    const answer = answersIn(await messagesOf(world, id)).at(-1);
    assert.equal(answer?.info.structured, { sky: 'grey' });
    assert.equal(answer && callsOf(answer).map(({ state }) => state.status), ['error', 'completed']);
    assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
  });

  check('are replaced by those that come with the results', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('done')] });
    const id = await world.session();
    const [callID] = callIDsOf(await askWithTools(world, id));
    const other = { tools: [{ name: 'map', inputSchema: { type: 'object' } }], choice: { name: 'map' } };
    await giveResults(world, id, [{ callID, output: 'rain' }], { clientTools: other });
    await idle(world);
    assert.equal(
      [world.asked[1]?.tools.map(({ name }) => name), world.asked[1]?.toolChoice],
      [['map'], { name: 'map' }],
    );
  });

  check('are stored with their prompt until its turn has ended', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('done')] });
    const id = await world.session();
    const namesNow = async () => {
      const prompted = (await messagesOf(world, id))[0]?.info;
      return prompted?.role === 'user' ? prompted.clientTools?.tools.map(({ name }) => name) : [];
    };
    const [callID] = callIDsOf(await askWithTools(world, id));
    assert.equal(await namesNow(), ['weather', 'clock']);
    await giveResults(world, id, [{ callID, output: 'rain' }]);
    await idle(world);
    assert.is(await namesNow(), undefined);
  });

  check('are taken away by an empty list with the results', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('done')] });
    const id = await world.session();
    const [callID] = callIDsOf(await askWithTools(world, id));
    await giveResults(world, id, [{ callID, output: 'rain' }], { clientTools: { tools: [] } });
    await idle(world);
    assert.equal(world.asked[1]?.tools, []);
  });

  check(
    'go on to an answer in the form that comes with the results, and without that in the form of the prompt',
    async () => {
      const value = { name: 'StructuredOutput', input: { rain: true } };
      const format = { type: 'json_schema', schema: { type: 'object', required: ['rain'] } };
      const goOn = async (before: object, more: object, end: Script) => {
        const world = await createAgentWorld({ scripts: [calling(weatherCall), end] });
        const id = await world.session();
        const [callID] = callIDsOf(await askWithTools(world, id, { ...clientTools(), ...before }));
        await giveResults(world, id, [{ callID, output: 'rain' }], more);
        await idle(world);
        assert.is(world.asked.length, 2);
        const { info } = await lastOf(world, id);
        return (info as { readonly structured?: unknown }).structured;
      };
      assert.equal(await goOn({}, { format }, calling(value)), { rain: true });
      assert.equal(await goOn({ format }, {}, calling(value)), { rain: true });
      assert.is(await goOn({ format }, { format: { type: 'text' } }, replying('It rains.')), undefined);
    },
  );

  check('are refused with a form of the answer that cannot be used, and the results are not taken', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall)] });
    const id = await world.session();
    const [callID] = callIDsOf(await askWithTools(world, id));
    const format = { type: 'json_schema', schema: { type: 'object', properties: 1 } };
    const body = { results: [{ callID, output: 'rain' }], format };
    const response = await world.call('POST', `/session/${id}/client-tool-results`, body);
    assert.is(response.status, 400);
    assert.match(await response.text(), 'format.schema');
    assert.equal((await sessionAt(world, id)).awaitedCalls?.callIDs, [callID]);
  });

  check('have results that are cut as those of any tool, and stored whole', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('done')] });
    const id = await world.session();
    const answer = await askWithTools(world, id);
    const [call] = callsOf(answer);
    const output = 'x'.repeat(60_000);
    await giveResults(world, id, [{ callID: call?.callID, output }]);
    await idle(world);
    const [part] = callsOf(answersIn(await messagesOf(world, id))[0] ?? answer);
    assert.match(part?.state.status === 'completed' ? part.state.output : '', 'more characters were left out');
    const whole = await world.call('GET', `/session/${id}/message/${answer.info.id}/part/${call?.id}/output`);
    assert.is(await whole.text(), output);
  });
});
