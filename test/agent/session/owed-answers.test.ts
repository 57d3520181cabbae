import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { AssistantMessage, Session, UserMessage } from '../../../src/agent/protocol/types.ts';
import { createSingleServer } from '../../../src/agent/store/cluster.ts';
import { StoreUnavailableError } from '../../../src/agent/store/errors.ts';
import type { Store, StoreChange } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
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
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  hanging,
  prompt,
  replying,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, sessionOf, textPart, userMessage } from '../store/samples.ts';

const SESSION = 'ses_000000000000aaaaaaaaaaaaaa';
const messageID = (place: number): string => `msg_00000000000${place}aaaaaaaaaaaaaa`;
const MODEL = { providerID: 'demo', modelID: 'main' };

const emptyStore = (): Store =>
  createMemoryStore({ ids: createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count))) });

/** A prompt as it is stored when it was accepted, with what is known of its answer. */
const promptChanges = (
  place: number,
  state: 'owed' | 'begun',
  more: Partial<UserMessage> = {},
): readonly StoreChange[] => {
  const time = { created: createFakeClock().now() };
  const user = { ...userMessage(messageID(place), SESSION), model: MODEL, time, ...more };
  const part = { id: `prt_00000000000${place}aaaaaaaaaaaaaa`, sessionID: SESSION, messageID: user.id };
  return [
    { kind: 'message', message: user },
    { kind: 'part', part: textPart(part, `prompt ${place}`) },
    { kind: 'answer', sessionID: SESSION, promptID: user.id, state },
  ];
};
const sessionChange = (more: Partial<Session> = {}): StoreChange => ({
  kind: 'session',
  session: sessionOf(SESSION, { title: 'Mine', ...more }),
});

/** A store that records each change of what is owed, with the kinds of changes in the same commit. */
const recordingStore = () => {
  const inner = emptyStore();
  const states: (readonly string[])[] = [];
  const store: Store = {
    ...inner,
    async commit(changes, events, leaseID) {
      const kinds = changes.map((change) => (change.kind === 'message' ? change.message.role : change.kind));
      for (const change of changes) if (change.kind === 'answer') states.push([change.state, ...kinds]);
      return inner.commit(changes, events, leaseID);
    },
  };
  return { store, states };
};

/** A server that starts on what a killed one has left. */
const startOn = async (changes: readonly StoreChange[], given: WorldGiven = {}): Promise<AgentWorld> => {
  const store = emptyStore();
  await store.commit([sessionChange(), ...changes], []);
  return createAgentWorld({ ...given, store });
};
const untilQuiet = (world: AgentWorld): Promise<void> =>
  until(world, async () => (await isQuiet(world)) && (await world.store.owed()).length === 0);
const answersOf = async (world: AgentWorld, sessionID = SESSION): Promise<readonly AssistantMessage[]> =>
  answersIn(await messagesOf(world, sessionID)).map(({ info }) => info);

describe('an answer that is owed', (check) => {
  check('is stored in the commit of its prompt, and not owed any more in the commit that ends it', async () => {
    const { store, states } = recordingStore();
    const world = await createAgentWorld({ store });
    const id = await world.session({ title: 'Mine' });
    await ask(world, id);
    assert.equal(
      states.map(([state, ...kinds]) => [state, kinds.includes('user'), kinds.includes('assistant')]),
      [
        ['owed', true, false],
        ['begun', false, true],
        ['ended', false, true],
      ],
    );
    assert.equal(await world.store.owed(), []);
  });

  check('is not owed for a prompt that wants none', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await world.post(`/session/${id}/message`, prompt('note this', { noReply: true }));
    assert.equal(await world.store.owed(), []);
  });

  check('is not given a second time where another server has begun it since this one has found it', async () => {
    const inner = emptyStore();
    await inner.commit([sessionChange(), ...promptChanges(1, 'begun'), ...promptChanges(2, 'owed')], []);
    let looks = 0;
    const owed: Store['owed'] = async (sessionID) => {
      const found = await inner.owed(sessionID);
      looks += 1;
      // The first look is that of the start, when the other server had not begun yet.
      return looks === 1 ? found.map((one) => ({ ...one, isBegun: false })) : found;
    };
    const world = await createAgentWorld({ store: { ...inner, owed }, scripts: [replying('second')] });
    await untilQuiet(world);
    const answers = answersIn(await messagesOf(world, SESSION));
    assert.equal(
      answers.map(({ info, parts }) => [info.parentID, info.error?.name ?? textOf({ parts })]),
      [
        [messageID(1), 'MessageAbortedError'],
        [messageID(2), 'second'],
      ],
    );
    assert.is(world.asked.length, 1);
  });

  check('is given after a kill where it was never begun, in the order of the prompts', async () => {
    const world = await startOn([...promptChanges(1, 'owed'), ...promptChanges(2, 'owed')], {
      scripts: [replying('first'), replying('second')],
    });
    await untilQuiet(world);
    const answers = answersIn(await messagesOf(world, SESSION));
    assert.equal(
      answers.map(({ info, parts }) => [info.parentID, textOf({ parts }), info.error]),
      [
        [messageID(1), 'first', undefined],
        [messageID(2), 'second', undefined],
      ],
    );
    assert.is(world.asked.length, 2);
    assert.ok(world.logged.some((line) => line.includes('waiting-prompts-run') && line.includes('"count":2')));
  });

  check('is ended with an error, and not asked for again, where it was begun', async () => {
    const step = answer(messageID(2), SESSION, {
      parentID: messageID(1),
      finish: 'tool-calls',
      time: { created: 1, completed: 2 },
    });
    // Killed between two steps: no message is open, and the prompt has no answer.
    const world = await startOn([...promptChanges(1, 'begun'), { kind: 'message', message: step }]);
    await untilQuiet(world);
    const [first, last, ...others] = await answersOf(world);
    assert.equal([first, others], [step, []]);
    assert.equal(
      [last?.parentID, last?.error?.name, last?.finish, typeof last?.time.completed],
      [messageID(1), 'MessageAbortedError', 'error', 'number'],
    );
    assert.equal(world.asked, []);
    const types = (await world.events()).map(({ type }) => type);
    assert.equal(types, ['message.updated', 'session.error', 'session.status', 'session.idle']);
  });

  check('is not given any more after an hour: the prompt is ended with an error that says so', async () => {
    const now = createFakeClock().now();
    const world = await startOn([
      ...promptChanges(1, 'owed', { time: { created: now - 3_600_001 } }),
      ...promptChanges(2, 'owed', { time: { created: now - 3_600_000 } }),
    ]);
    await untilQuiet(world);
    const [first, second, ...others] = await answersOf(world);
    assert.equal([first?.parentID, second?.parentID, others], [messageID(1), messageID(2), []]);
    assert.match(first?.error?.name === 'UnknownError' ? first.error.data.message : '', /more than an hour later/);
    assert.is(second?.error, undefined);
    assert.is(world.asked.length, 1);
  });

  check('of a message that was open gets no second message', async () => {
    const open = answer(messageID(2), SESSION, { parentID: messageID(1) });
    const world = await startOn([...promptChanges(1, 'begun'), { kind: 'message', message: open }]);
    await untilQuiet(world);
    assert.equal(
      (await answersOf(world)).map(({ id, error }) => [id, error?.name]),
      [[messageID(2), 'MessageAbortedError']],
    );
  });

  check('is ended where it was begun, and given where it was not, in one session', async () => {
    const world = await startOn([...promptChanges(1, 'begun'), ...promptChanges(2, 'owed')]);
    await untilQuiet(world);
    assert.equal(
      (await answersOf(world)).map(({ parentID, error }) => [parentID, error?.name]),
      [
        [messageID(1), 'MessageAbortedError'],
        [messageID(2), undefined],
      ],
    );
    assert.is(world.asked.length, 1);
  });

  for (const [what, more, expected] of [
    ['agent', { agent: 'biuld' }, /agent "biuld" is not configured; the nearest is "build"/],
    ['model', { model: { providerID: 'demo', modelID: 'mian' } }, /model "demo\/mian" is not configured; the nearest/],
  ] as const) {
    check(`is an error that says so where the ${what} is not configured any more`, async () => {
      const world = await startOn(promptChanges(1, 'owed', more));
      await untilQuiet(world);
      const [reported, ...others] = await answersOf(world);
      assert.equal([reported?.error?.name, others], ['UnknownError', []]);
      assert.match(reported?.error?.name === 'UnknownError' ? reported.error.data.message : '', expected);
      assert.equal(world.asked, []);
      assert.is((await eventsOf(world, 'session.error')).length, 1);
    });
  }

  check('is no obstacle to the next prompt, and what it waits for is not asked twice', async () => {
    const world = await startOn(promptChanges(1, 'owed'), { scripts: [hanging, replying('later')] });
    await until(world, () => world.asked.length === 1);
    const later = ask(world, SESSION, 'later');
    await world.post(`/session/${SESSION}/abort`);
    await later;
    await untilQuiet(world);
    const answers = await answersOf(world);
    assert.is(answers.filter(({ parentID }) => parentID === messageID(1)).length, 1);
    assert.is(answers.length, 2);
  });

  check('to a summary that was never begun is given too', async () => {
    const part = { id: 'prt_000000000003aaaaaaaaaaaaaa', sessionID: SESSION, messageID: messageID(3) } as const;
    const time = { created: createFakeClock().now() };
    const request = { ...userMessage(messageID(3), SESSION), model: MODEL, time };
    const world = await startOn(
      [
        ...promptChanges(1, 'owed').slice(0, 2),
        { kind: 'message', message: request },
        { kind: 'part', part: { ...part, type: 'compaction', auto: false } },
        { kind: 'answer', sessionID: SESSION, promptID: request.id, state: 'owed' },
      ],
      { scripts: [replying('What was said')] },
    );
    await untilQuiet(world);
    assert.equal(
      (await answersOf(world)).map(({ parentID, summary }) => [parentID, summary]),
      [[messageID(3), true]],
    );
  });

  check('to a task is owed to its call alone', async () => {
    const task = { description: 'Do one thing', prompt: 'do it', subagent_type: 'helper' };
    const { store, states } = recordingStore();
    const world = await createAgentWorld({
      store,
      scripts: [calling({ name: 'task', input: task }), hanging],
      agents: [{ name: 'helper', canTakeTasks: true, canAnswerPrompts: false }],
    });
    const id = await world.session();
    await world.call('POST', `/session/${id}/prompt_async`, prompt('hand it on'));
    await until(world, () => world.asked.length === 2);
    assert.equal(
      states.map(([state]) => state),
      ['owed', 'begun', 'begun'],
    );
    await world.post(`/session/${id}/abort`);
    await untilQuiet(world);
  });

  check('is found given by a server that had it in its queue, when another one was faster', async () => {
    const store = emptyStore();
    const given = answer(messageID(9), SESSION, { time: { created: 1, completed: 2 }, finish: 'stop' });
    const isFirst = Promise.withResolvers<void>();
    const world = await createAgentWorld({
      store: {
        ...store,
        async owed(sessionID) {
          // Before this server looks under its lease, another one has answered.
          if (sessionID === undefined) return store.owed();
          await isFirst.promise;
          return store.owed(sessionID);
        },
      },
    });
    const id = await world.session();
    const answering = ask(world, id);
    await until(world, async () => (await store.owed()).length === 1);
    const [owed] = await store.owed();
    const promptID = owed?.promptID ?? '';
    await store.commit(
      [
        { kind: 'message', message: { ...given, sessionID: id, parentID: promptID } },
        { kind: 'answer', sessionID: id, promptID, state: 'ended' },
      ],
      [],
    );
    isFirst.resolve();
    assert.is((await answering).info.id, messageID(9));
    assert.equal(world.asked, []);
  });
});

describe('a run that the store fails in the middle', (check) => {
  /** A store that fails every commit while it is told to. */
  const failingStore = () => {
    const inner = emptyStore();
    let isFailing = false;
    const store: Store = {
      ...inner,
      async commit(...given) {
        if (isFailing) throw new StoreUnavailableError();
        return inner.commit(...given);
      },
    };
    return {
      store,
      fail: (isSo: boolean) => {
        isFailing = isSo;
      },
    };
  };

  for (const when of ['before', 'while'] as const) {
    check(`is left to other servers where this one begins to stop ${when} it looks for abandoned ones`, async () => {
      const store = emptyStore();
      await store.commit([sessionChange()], []);
      let onAbandoned = (): void => {};
      const peers = createSingleServer({
        ...store,
        health: {
          trouble: () => undefined,
          onWorking(listener) {
            onAbandoned = listener;
          },
        },
      });
      const world = await createAgentWorld({ store, changes: { peers } });
      // Another server has stored it, and is about to run it.
      await store.commit(promptChanges(1, 'owed'), []);
      if (when === 'while') onAbandoned();
      const stopped = world.server.stop();
      if (when === 'before') onAbandoned();
      await stopped;
      for (let turns = 0; turns < 50; turns++) await world.clock.advance(1);
      assert.equal(
        (await store.owed()).map(({ promptID, isBegun }) => [promptID, isBegun]),
        [[messageID(1), false]],
      );
      assert.equal(
        (await store.messages(SESSION)).filter(({ info }) => info.role === 'assistant'),
        [],
      );
    });
  }

  check('is ended before the next prompt of its session is run', async () => {
    const { store, fail } = failingStore();
    const tool = toolNamed('pay', async () => {
      fail(true);
      return { output: 'paid', title: '', metadata: {}, isError: false };
    });
    const world = await createAgentWorld({
      store,
      tools: [tool],
      scripts: [calling({ name: 'pay', input: {} }), replying('after it')],
    });
    const id = await world.session({ title: 'Mine' });
    await world.call('POST', `/session/${id}/prompt_async`, prompt('pay'));
    await until(world, async () => JSON.stringify(await world.get('/session/status')) === '{}');
    assert.is((await store.unfinished()).length, 1);
    fail(false);
    assert.is(textOf(await ask(world, id, 'and now?')), 'after it');
    await untilQuiet(world);
    const [first] = await answersOf(world, id);
    assert.is(first?.error?.name, 'MessageAbortedError');
    assert.match(outputOf((await callsOf(world, id))[0]), 'whether it was carried out is not known');
  });
});
