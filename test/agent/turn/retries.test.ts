import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { ask, callsOf, eventsOf, isQuiet, outputOf, statuses, textOf, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  failing,
  hanging,
  replying,
  type Script,
  toolNamed,
} from '../harness/world.ts';

const TOKENS = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };
const busy = (retryAfterMs?: number): Script =>
  failing(
    new ModelError('api', 'The provider is busy', {
      statusCode: 429,
      isRetryable: true,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }),
  );
/** Says something and is cut off. */
const cut = (...deltas: readonly string[]): Script =>
  async function* () {
    for (const delta of deltas) yield { kind: 'text', delta };
    throw new ModelError('network', 'The connection was lost', { isRetryable: true });
  };

const eventsIn = ({ logged }: AgentWorld, wanted: string) =>
  logged.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event === wanted);
/** What the log tells of turns that failed, without when and by whom it was written. */
const failuresIn = (world: AgentWorld) =>
  eventsIn(world, 'turn-failed').map(({ time, service, event, ...fields }) => fields);

describe('a backend that fails for a while', (check) => {
  check('is asked again after the pause, and what is going on can be seen', async () => {
    const world = await createAgentWorld({ scripts: [busy(), busy(), replying('here')] });
    const id = await world.session();
    const startedAt = world.clock.now();
    const answer = ask(world, id);
    await world.clock.advance(10);
    assert.equal(await statuses(world), {
      [id]: { type: 'retry', attempt: 1, message: 'The provider is busy', next: startedAt + 2000 },
    });
    await world.clock.advance(1980);
    assert.is(world.asked.length, 1);
    await world.clock.advance(20);
    assert.is(world.asked.length, 2);
    await world.clock.advance(4000);
    assert.is(textOf(await answer), 'here');
    const words = (await eventsOf(world, 'session.status')).map(({ properties }) => properties.status.type);
    assert.equal(words, ['busy', 'retry', 'busy', 'retry', 'busy', 'idle']);
    assert.ok(await isQuiet(world));
  });

  check("is reported in the log once, with what was asked how often and no one's words", async () => {
    const world = await createAgentWorld({ scripts: [replying('fine'), busy()] });
    const id = await world.session();
    await ask(world, id, 'secret words');
    assert.equal(failuresIn(world), []);
    const answer = ask(world, id, 'secret words');
    await world.clock.advance(70_000);
    await answer;
    assert.equal(failuresIn(world), [
      { level: 'warn', session: id, model: 'demo/main', fault: 'APIError', status: 429, count: 6 },
    ]);
    assert.not.match(world.logged.join('\n'), /secret words|is busy/);
  });

  check('is in the log after its first attempt, with the reason and the delay', async () => {
    const unreachable = new ModelError('network', 'Not reached', { isRetryable: true, code: 'ECONNREFUSED' });
    const world = await createAgentWorld({ scripts: [failing(unreachable)] });
    const session = await world.session();
    const answer = ask(world, session);
    const failures = () =>
      eventsIn(world, 'model-call-failed').map(({ level, session, model, reason, restMs }) => [
        level,
        session,
        model,
        reason,
        Number(restMs) >= 2000,
      ]);
    await world.clock.advance(10);
    assert.equal(failures(), [['warn', session, 'demo/main', 'network (ECONNREFUSED)', true]]);
    await world.clock.advance(80_000);
    await answer;
    assert.is(failures().length, 1);
    assert.equal(failuresIn(world), [
      { level: 'warn', session, model: 'demo/main', fault: 'APIError', reason: 'network (ECONNREFUSED)', count: 6 },
    ]);
  });

  check('is reported with the attempts of the step that failed', async () => {
    const refused = failing(new ModelError('auth', 'Refused', { statusCode: 401 }));
    const scripts = [busy(), calling({ name: 'pay', input: {} }), refused];
    const world = await createAgentWorld({ scripts, tools: [toolNamed('pay')] });
    const id = await world.session();
    const answer = ask(world, id);
    await world.clock.advance(70_000);
    await answer;
    assert.equal(failuresIn(world), [
      { level: 'warn', session: id, model: 'demo/main', fault: 'ProviderAuthError', count: 1 },
    ]);
  });

  check('is reported as information and not as a warning when it was aborted', async () => {
    const world = await createAgentWorld({ scripts: [hanging], resolvedModel: { splitsThinking: true } });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    await world.post(`/session/${id}/abort`);
    await answer;
    assert.equal(failuresIn(world), [
      { level: 'info', session: id, model: 'demo/main', fault: 'MessageAbortedError', count: 1 },
    ]);
  });

  check('is left alone for as long as it asks', async () => {
    const world = await createAgentWorld({ scripts: [busy(20_000), replying('here')] });
    const answer = ask(world, await world.session());
    await world.clock.advance(19_990);
    assert.is(world.asked.length, 1);
    await world.clock.advance(20);
    assert.is(textOf(await answer), 'here');
  });

  check('that asks for hours is answered with its refusal at once', async () => {
    const world = await createAgentWorld({ scripts: [busy(7_200_000)] });
    const { info } = await ask(world, await world.session());
    assert.equal(info.error, {
      name: 'APIError',
      data: { message: 'The provider is busy', statusCode: 429, isRetryable: true },
    });
  });

  check('is given up after five more attempts', async () => {
    const world = await createAgentWorld({ scripts: [busy()] });
    const answer = ask(world, await world.session());
    await world.clock.advance(70_000);
    const { info } = await answer;
    assert.is(info.error?.name, 'APIError');
    assert.is(world.asked.length, 6);
    assert.is((await eventsOf(world, 'session.error')).length, 1);
    assert.ok(await isQuiet(world));
  });

  check('is not asked again where that cannot help', async () => {
    for (const [problem, name] of [
      [new ModelError('auth', 'Refused', { statusCode: 401 }), 'ProviderAuthError'],
      [new ModelError('api', 'Bad', { statusCode: 400 }), 'APIError'],
      [new ModelError('unknown-adapter', 'None'), 'APIError'],
    ] as const) {
      const world = await createAgentWorld({ scripts: [failing(problem)] });
      const { info } = await ask(world, await world.session());
      assert.is(info.error?.name, name);
      assert.is(world.asked.length, 1);
    }
  });

  check('counts an answer without an end as cut off', async () => {
    const unended: Script = async function* () {
      yield { kind: 'text', delta: 'to be contin' };
    };
    const world = await createAgentWorld({ scripts: [unended, replying('continued')] });
    const answer = ask(world, await world.session());
    await world.clock.advance(3000);
    assert.is(textOf(await answer), 'continued');
  });
});

describe('the conversation before a failure', (check) => {
  check('counts for nothing once the step is begun anew, in the answer and in the history', async () => {
    const world = await createAgentWorld({ scripts: [cut('half an ans', 'wer'), replying('whole'), replying('next')] });
    const id = await world.session();
    const answer = ask(world, id);
    await world.clock.advance(3000);
    assert.is(textOf(await answer), 'whole');
    await ask(world, id, 'and then?');
    assert.equal(world.asked.at(-1)?.messages[1], { role: 'assistant', text: 'whole', calls: [] });
    const emptied = (await eventsOf(world, 'message.part.updated')).some(
      ({ properties: { part } }) => part.type === 'text' && part.text === '' && part.time?.end !== undefined,
    );
    assert.ok(emptied, 'clients hear that it is withdrawn');
  });

  check('stays when there is no other attempt', async () => {
    const partly: Script = async function* () {
      yield { kind: 'text', delta: 'half' };
      throw new ModelError('api', 'Broken', { statusCode: 400 });
    };
    const world = await createAgentWorld({ scripts: [partly] });
    const { info, parts } = await ask(world, await world.session());
    assert.is(info.error?.name, 'APIError');
    assert.is(textOf({ parts }), 'half');
  });

  check('is no call to be made, and none that the model is sent', async () => {
    const half: Script = async function* () {
      yield { kind: 'call-begun', id: 'call-1', name: 'pay' };
      yield { kind: 'call', id: 'call-1', name: 'pay', input: { amount: 1 }, raw: '{"amount":1}' };
      yield { kind: 'call-begun', id: 'call-2', name: 'pay' };
      throw new ModelError('network', 'The connection was lost', { isRetryable: true });
    };
    const again: Script = async function* () {
      // The same id: some backends count from one in every answer.
      yield { kind: 'call', id: 'call-1', name: 'pay', input: { amount: 2 }, raw: '{"amount":2}' };
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const paid: unknown[] = [];
    const pay = toolNamed('pay', async (input) => {
      paid.push(input);
      return { output: 'paid', title: '', metadata: {}, isError: false };
    });
    const world = await createAgentWorld({ tools: [pay], scripts: [half, again, replying('done')] });
    const id = await world.session();
    const answer = ask(world, id);
    await world.clock.advance(3000);
    assert.is(textOf(await answer), 'done');
    assert.equal(paid, [{ amount: 2 }]);
    const reported = world.asked.at(-1)?.messages ?? [];
    assert.equal(reported.slice(1), [
      { role: 'assistant', text: '', calls: [{ id: 'call-1', name: 'pay', input: { amount: 2 } }] },
      { role: 'tool', results: [{ id: 'call-1', name: 'pay', output: 'paid', isError: false }] },
    ]);
    assert.equal((await callsOf(world, id)).map(outputOf), [
      'The step was restarted',
      'The step was restarted',
      'paid',
    ]);
  });
});

describe('a pause before the next attempt', (check) => {
  check('ends with an abort', async () => {
    const world = await createAgentWorld({ scripts: [busy(30_000)] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, async () => JSON.stringify(await statuses(world)).includes('retry'));
    await world.post(`/session/${id}/abort`);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.ok(await isQuiet(world));
    await world.clock.advance(60_000);
    assert.is(world.asked.length, 1);
  });
});
