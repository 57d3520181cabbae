import * as assert from 'uvu/assert';
import type { AgentTool } from '../../../src/agent/tools/tool.ts';
import { describe } from '../../check.ts';
import {
  answersIn,
  ask,
  callsOf,
  eventsOf,
  isQuiet,
  messagesOf,
  outputOf,
  textOf,
  until,
} from '../harness/permission-requests.ts';
import { calling, createAgentWorld, outcome, replying, type Script, toolNamed } from '../harness/world.ts';

const TOKENS = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };

type Call = { readonly name: string; readonly input: unknown; readonly raw?: string };

/** A world in which the model calls once and then says what it has heard. */
const worldWith = (tools: readonly AgentTool[], ...calls: readonly Call[]) =>
  createAgentWorld({ tools, scripts: [calling(...calls), replying('done')] });

/** The results that the model was told of, in the order of its last request. */
const resultsSent = (world: Awaited<ReturnType<typeof createAgentWorld>>) =>
  (world.asked.at(-1)?.messages ?? []).flatMap((outputText) => (outputText.role === 'tool' ? outputText.results : []));

/** Keeps a tool running until the test lets it go. */
const held = (name: string, begun: string[]) => {
  const gate = Promise.withResolvers<void>();
  const tool = toolNamed(name, async () => {
    begun.push(name);
    await gate.promise;
    return outcome(`${name} is done`);
  });
  return { tool, release: gate.resolve };
};

describe('the files of a result', (check) => {
  const url = `data:image/png;base64,${'AAAA'.repeat(20_000)}`;
  const camera = toolNamed('camera', async () => ({ ...outcome('a photo'), files: [{ mime: 'image/png', url }] }));

  check(
    'are stored with the call, sent to a model that reads them, and left out of events when they are large',
    async () => {
      const world = await worldWith([camera], { name: 'camera', input: {} });
      const id = await world.session();
      await ask(world, id);
      const [part] = await callsOf(world, id);
      const { attachments = [] } = part?.state.status === 'completed' ? part.state : {};
      assert.equal(
        attachments.map(({ id: _id, ...file }) => file),
        [{ sessionID: id, messageID: part?.messageID, type: 'file', mime: 'image/png', url }],
      );
      const sent = world.asked.at(-1)?.messages ?? [];
      assert.equal(resultsSent(world)[0]?.output, 'a photo');
      assert.equal(sent.at(-1), {
        role: 'user',
        content: [
          { kind: 'text', text: 'Files from the result of camera:' },
          { kind: 'file', mime: 'image/png', url },
        ],
      });
      const { id: copyID } = (await world.post(`/session/${id}/fork`, {})) as { id: string };
      const [copy] = await callsOf(world, copyID);
      const copied = copy?.state.status === 'completed' ? copy.state.attachments?.[0] : undefined;
      assert.equal([copied?.sessionID, copied?.messageID, copied?.url], [copyID, copy?.messageID, url]);
      assert.is.not(copied?.id, attachments[0]?.id);
      const events = await eventsOf(world, 'message.part.updated');
      assert.ok(events.length > 0);
      assert.not.match(JSON.stringify(events), 'AAAAAAAA');
      assert.match(JSON.stringify(events), 'data:image/png;omitted,');
    },
  );
});

describe('a tool call', (check) => {
  check('is made with its arguments, and the model goes on with its output', async () => {
    const given: unknown[] = [];
    const tool = toolNamed('add', async (input) => {
      given.push(input);
      return { output: '3', title: 'Added', metadata: { sum: 3 }, isError: false };
    });
    const world = await worldWith([tool], { name: 'add', input: { a: 1, b: 2 } });
    const id = await world.session();
    const answer = await ask(world, id);
    assert.equal(given, [{ a: 1, b: 2 }]);
    assert.is(textOf(answer), 'done');
    const [part] = await callsOf(world, id);
    assert.equal(part?.state, {
      status: 'completed',
      input: { a: 1, b: 2 },
      output: '3',
      title: 'Added',
      metadata: { sum: 3, truncated: false },
      time: { start: world.clock.now(), end: world.clock.now() },
    });
    assert.equal(resultsSent(world), [{ id: 'call-1-0', name: 'add', output: '3', isError: false }]);
    const [first, second] = answersIn(await messagesOf(world, id));
    assert.is(first?.info.finish, 'tool-calls');
    assert.is(second?.info.finish, 'stop');
    assert.is(first?.info.parentID, second?.info.parentID);
  });

  check('knows where it comes from', async () => {
    const contexts: unknown[] = [];
    const tool = toolNamed('look', async (_input, { signal: _, ...context }) => {
      contexts.push(context);
      return outcome('seen');
    });
    const world = await worldWith([tool], { name: 'look', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    assert.equal(contexts, [{ sessionID: id, messageID: part?.messageID, callID: 'call-1-0', agent: 'build' }]);
  });

  check('runs beside the other calls of its step, and the results keep their order', async () => {
    const begun: string[] = [];
    const [slow, quick] = [held('slow', begun), held('quick', begun)];
    const world = await worldWith([slow.tool, quick.tool], { name: 'slow', input: {} }, { name: 'quick', input: {} });
    const answer = ask(world, await world.session());
    await until(world, () => begun.length === 2);
    quick.release();
    await world.clock.advance(10);
    slow.release();
    await answer;
    assert.equal(
      resultsSent(world).map(({ output }) => output),
      ['slow is done', 'quick is done'],
    );
  });

  check('with arguments that are no JSON object is not made, and the model learns why', async () => {
    for (const [input, raw] of [
      [undefined, '{"a":'],
      [[1], '[1]'],
      ['text', '"text"'],
      [null, 'null'],
    ] as const) {
      let runs = 0;
      const tool = toolNamed('add', async () => {
        runs += 1;
        return outcome('never');
      });
      const world = await worldWith([tool], { name: 'add', input, raw });
      const id = await world.session();
      assert.is(textOf(await ask(world, id)), 'done');
      const [part] = await callsOf(world, id);
      assert.is(runs, 0);
      assert.is(part?.state.status, 'error');
      assert.match(outputOf(part), `not a JSON object (${raw.length} characters)`);
    }
  });

  check('of a tool that there is not becomes a call of "invalid" that lists the tools', async () => {
    const world = await worldWith([toolNamed('add')], { name: 'multiply', input: {} });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    const [part] = await callsOf(world, id);
    assert.is(part?.tool, 'invalid');
    assert.is(part?.state.status, 'completed');
    assert.match(outputOf(part), /The tools are: add$/);
  });

  check('that fails is sent to the model as an error', async () => {
    const world = await worldWith([toolNamed('add', async () => outcome('no such number', true))], {
      name: 'add',
      input: {},
    });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.equal(resultsSent(world), [{ id: 'call-1-0', name: 'add', output: 'no such number', isError: true }]);
    assert.is((await callsOf(world, id))[0]?.state.status, 'error');
  });

  check('that throws ends as an error without its words, is logged, and the turn goes on', async () => {
    const broken = toolNamed('add', async () => {
      throw new RangeError('secret words');
    });
    const world = await worldWith([broken], { name: 'add', input: {} });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.match(outputOf((await callsOf(world, id))[0]), 'failed in a way it should not');
    assert.ok(world.logged.some((line) => line.includes('RangeError')));
    assert.not.ok(world.logged.some((line) => line.includes('secret')));
  });

  check('that hangs is ended by an abort, and the calls beside it keep their outcomes', async () => {
    const hanging = toolNamed(
      'hang',
      (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const world = await worldWith(
      [hanging, toolNamed('pay', async () => outcome('paid'))],
      { name: 'pay', input: {} },
      { name: 'hang', input: {} },
    );
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, async () => (await callsOf(world, id))[1]?.state.status === 'running');
    await world.post(`/session/${id}/abort`);
    const { info } = await answer;
    assert.equal(info.error, { name: 'MessageAbortedError', data: { message: 'Aborted' } });
    const [pay, hang] = await callsOf(world, id);
    assert.is(pay?.state.status, 'completed');
    assert.is(outputOf(pay), 'paid');
    assert.is(outputOf(hang), 'The call was aborted');
    // The model had been paid for.
    assert.is(info.tokens.input, 10);
    assert.ok(await isQuiet(world));
  });

  check('that comes to its end in spite of an abort keeps its outcome', async () => {
    const begun: string[] = [];
    const { tool, release } = held('pay', begun);
    const world = await worldWith([tool], { name: 'pay', input: {} });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => begun.length === 1);
    const aborted = world.post(`/session/${id}/abort`);
    await world.clock.advance(10);
    release();
    await aborted;
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.is(outputOf((await callsOf(world, id))[0]), 'pay is done');
    assert.ok(await isQuiet(world));
  });

  check('that was begun and never ended counts as one with bad arguments', async () => {
    const broken: Script = async function* () {
      yield { kind: 'call-begun', id: 'x', name: 'add' };
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const world = await createAgentWorld({ tools: [toolNamed('add')], scripts: [broken, replying('done')] });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.match(outputOf((await callsOf(world, id))[0]), 'not a JSON object');
  });

  check('that is announced twice is one call', async () => {
    const stuttering: Script = async function* () {
      for (let count = 0; count < 2; count++) yield { kind: 'call-begun', id: 'x', name: 'add' };
      yield { kind: 'call', id: 'x', name: 'add', input: {}, raw: '{}' };
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const world = await createAgentWorld({ tools: [toolNamed('add')], scripts: [stuttering, replying('done')] });
    const id = await world.session();
    await ask(world, id);
    assert.equal((await callsOf(world, id)).map(outputOf), ['done']);
  });

  check('is not made any more when the abort comes just before it', async () => {
    let runs = 0;
    const pay = toolNamed('pay', async () => {
      runs += 1;
      return outcome('paid');
    });
    const { store } = await createAgentWorld();
    let aborted: Promise<unknown> | undefined;
    const world: Awaited<ReturnType<typeof createAgentWorld>> = await createAgentWorld({
      tools: [pay],
      scripts: [calling({ name: 'pay', input: {} })],
      store: {
        ...store,
        async commit(changes, events) {
          const spent = changes.find((change) => change.kind === 'session' && change.session.tokens.input > 0);
          if (spent?.kind === 'session') aborted ??= world.post(`/session/${spent.session.id}/abort`);
          await new Promise((resolve) => setImmediate(resolve));
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    assert.is((await ask(world, id)).info.error?.name, 'MessageAbortedError');
    await aborted;
    assert.is(runs, 0);
    assert.is(outputOf((await callsOf(world, id))[0]), 'The call was aborted');
  });

  check('has an id of its own even where the backend gives one id to two', async () => {
    const twins: Script = async function* () {
      for (const a of [1, 2]) {
        yield { kind: 'call-begun', id: 'same', name: 'add' };
        yield { kind: 'call', id: 'same', name: 'add', input: { a }, raw: `{"a":${a}}` };
      }
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const add = toolNamed('add', async ({ a }) => outcome(`got ${a}`));
    const world = await createAgentWorld({ tools: [add], scripts: [twins, replying('done')] });
    const id = await world.session();
    await ask(world, id);
    const results = resultsSent(world);
    assert.equal(
      results.map(({ output }) => output),
      ['got 1', 'got 2'],
    );
    assert.is(new Set(results.map((result) => result.id)).size, 2);
    assert.ok((await callsOf(world, id)).every(({ state }) => state.status === 'completed'));
  });
});

describe('a long output', (check) => {
  const LONG = Array.from({ length: 3000 }, (_, index) => `line ${index}`).join('\n');

  check('is shown by its beginning, and the whole is kept and can be read', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG))], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    const shown = outputOf(part);
    assert.ok(shown.startsWith('line 0\n') && shown.includes('line 1999\n[') && !shown.includes('line 2000'));
    assert.is(part?.state.status === 'completed' && part.state.metadata.truncated, true);
    assert.is(resultsSent(world)[0]?.output, shown);
    const path = `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`;
    const response = await world.call('GET', path);
    assert.is(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.is(await response.text(), LONG);
  });

  check('of a failed call is cut and kept as well', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG, true))], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    assert.ok(outputOf(part).length < LONG.length);
    const path = `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`;
    assert.is(await (await world.call('GET', path)).text(), LONG);
  });

  check('is only there under its own session and message', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG))], { name: 'read', input: {} });
    const [id, other] = [await world.session(), await world.session()];
    const { info } = await ask(world, id);
    await ask(world, other);
    const [part] = await callsOf(world, id);
    const statusOf = async (sessionID: string, messageID: string | undefined) =>
      (await world.call('GET', `/session/${sessionID}/message/${messageID}/part/${part?.id}/output`)).status;
    const [foreign] = await messagesOf(world, other);
    assert.is(await statusOf(id, part?.messageID), 200);
    assert.is(await statusOf(id, info.id), 404, 'a message that does not hold the part');
    assert.is(await statusOf(id, foreign?.info.id), 404, 'a message of another session');
    assert.is(await statusOf(other, part?.messageID), 404, 'another session');
    assert.is(await statusOf(other, foreign?.info.id), 404, 'another session with a message of its own');
    assert.is(await statusOf(id, 'nonsense'), 404);
  });

  check('is only there for a call whose output was cut', async () => {
    const world = await worldWith([toolNamed('read')], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    const response = await world.call('GET', `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`);
    assert.is(response.status, 404);
  });
});

describe('a model that goes on and on', (check) => {
  const repeating = (input: () => unknown): Script =>
    async function* (request, signal) {
      yield* calling({ name: 'look', input: input() })(request, signal);
    };
  const counting = (outputFor: (count: number) => string) => {
    let count = 0;
    const tool = toolNamed('look', async () => outcome(outputFor(++count)));
    return { tool, runs: () => count };
  };

  check('may make one call three times, is refused three times, and is stopped', async () => {
    const { tool, runs } = counting(() => 'the same');
    const world = await createAgentWorld({ tools: [tool], scripts: [repeating(() => ({ a: 1, b: 2 }))] });
    const id = await world.session();
    const { info } = await ask(world, id);
    assert.is(runs(), 3);
    assert.equal(info.error?.data, { message: 'The model made the same call again and again' });
    const outputs = (await callsOf(world, id)).map(outputOf);
    assert.equal(outputs.slice(0, 3), ['the same', 'the same', 'the same']);
    assert.is(outputs.length, 7);
    assert.ok(outputs.slice(3).every((output) => output.includes('several times')));
    assert.ok(await isQuiet(world));
  });

  check('does not get round it with the order of the arguments', async () => {
    const { tool, runs } = counting(() => 'the same');
    let turn = 0;
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [repeating(() => (turn++ % 2 === 0 ? { a: 1, b: { c: 1, d: 2 } } : { b: { d: 2, c: 1 }, a: 1 }))],
    });
    await ask(world, await world.session());
    assert.is(runs(), 3);
  });

  check('does not get round it with many calls at the same time', async () => {
    const { tool, runs } = counting(() => 'the same');
    const calls = Array.from({ length: 8 }, () => ({ name: 'look', input: {} }));
    const world = await createAgentWorld({ tools: [tool], scripts: [calling(...calls), replying('done')] });
    await ask(world, await world.session());
    assert.is(runs(), 3);
  });

  check('is let be as long as each call reports something new', async () => {
    const { tool, runs } = counting((count) => `state ${count}`);
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [...Array.from({ length: 12 }, () => repeating(() => ({}))), replying('done')],
    });
    assert.is(textOf(await ask(world, await world.session())), 'done');
    assert.is(runs(), 12);
  });

  check('is stopped as well when it asks for what is denied, unknown or malformed', async () => {
    for (const call of [
      { name: 'look', input: {} },
      { name: 'nothing', input: {} },
      { name: 'task', input: undefined, raw: 'no JSON' },
    ]) {
      const world = await createAgentWorld({
        tools: [{ ...toolNamed('look'), patternsFor: () => ['secret'] }],
        rules: [
          { permission: '*', pattern: '*', action: 'allow' },
          { permission: 'look', pattern: 'secret', action: 'deny' },
        ],
        scripts: [calling(call)],
      });
      const { info } = await ask(world, await world.session());
      assert.is(info.error?.name, 'UnknownError', call.name);
      assert.ok(world.asked.length < 10, `${call.name}: ${world.asked.length}`);
    }
  });

  check('starts anew with the next prompt', async () => {
    const { tool, runs } = counting(() => 'the same');
    const call = repeating(() => ({}));
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [call, call, replying('a'), call, call, replying('b')],
    });
    const id = await world.session();
    await ask(world, id);
    assert.is(textOf(await ask(world, id)), 'b');
    assert.is(runs(), 4);
  });

  check('has a hard limit of steps, and may call no tools in the last one', async () => {
    let count = 0;
    const world = await createAgentWorld({
      tools: [toolNamed('look')],
      agents: [{ name: 'short', steps: 3 }],
      scripts: [repeating(() => ({ count: ++count }))],
    });
    const id = await world.session({ agent: 'short' });
    const { info } = await ask(world, id);
    assert.is(answersIn(await messagesOf(world, id)).length, 3);
    assert.is(world.asked.length, 3);
    assert.equal(
      world.asked.map(({ tools, toolChoice }) => [tools.map(({ name }) => name), toolChoice]),
      [
        [['look'], undefined],
        [['look'], undefined],
        [['look'], 'none'],
      ],
    );
    assert.match(world.asked[2]?.system ?? '', 'This is the last step');
    assert.not.match(world.asked[1]?.system ?? '', 'This is the last step');
    assert.match(JSON.stringify(info.error), 'all the steps');
    assert.match(outputOf((await callsOf(world, id))[2]), 'no step left');
    assert.ok(await isQuiet(world));
  });

  check('ends well when it answers in its last step', async () => {
    let count = 0;
    const call = repeating(() => ({ count: ++count }));
    const world = await createAgentWorld({
      tools: [toolNamed('look')],
      agents: [{ name: 'short', steps: 2 }],
      scripts: [call, replying('that is all')],
    });
    const { info, parts } = await ask(world, await world.session({ agent: 'short' }));
    assert.is(textOf({ parts }), 'that is all');
    assert.is(info.error, undefined);
  });
});
