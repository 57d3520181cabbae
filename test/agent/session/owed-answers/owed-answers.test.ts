import * as assert from 'uvu/assert';
import type { Store, StoreChange } from '../../../../src/agent/store/store.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { answersIn, ask, eventsOf, messagesOf, textOf, until } from '../../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  hanging,
  prompt,
  replying,
  type WorldGiven,
} from '../../harness/world.ts';
import { answer, userMessage } from '../../store/samples.ts';
import { answersOf, emptyStore, MODEL, messageID, promptChanges, SESSION, sessionChange, untilQuiet } from './world.ts';

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
    assert.is(second!.error, undefined);
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
});
