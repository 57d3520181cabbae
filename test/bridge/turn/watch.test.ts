import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import {
  ask,
  assistantInfo,
  completed,
  more,
  record,
  reported,
  SESSION,
  shown,
  textEventsIn,
  textPart,
  tokensOf,
  userInfo,
} from '../harness/turn-events.ts';
import { cameTo, createTurnWorld, LOST, REFUSED, type TurnWorld, UNREACHED } from '../harness/turn-world.ts';

const ASKED = record(userInfo('u1'), textPart('p1', 'u1', 'Pay five'));
const EARLIER = [
  record(userInfo('u0'), textPart('p0', 'u0', 'Hello')),
  record(completed('a0', 'u0'), textPart('t0', 'a0', 'Hi')),
];
const HALF = record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'Paid'));
const WHOLE = record(completed('a1', 'u1'), textPart('t1', 'a1', 'Paid five.', { isOver: true }));
const ABORTED = { name: 'MessageAbortedError', data: {} };

/** A turn whose prompt was sent, and whose answer broke off. */
const brokenOff = async (world: TurnWorld) => {
  const turn = world.start();
  await world.clock.advance(0);
  world.report(reported(userInfo('u1')), reported(assistantInfo('a1', 'u1')));
  world.state.busy.add(SESSION);
  world.state.messages = [...EARLIER, ASKED, HALF];
  world.prompts[0]?.fail(LOST);
  await world.clock.advance(0);
  return turn;
};

describe('a turn whose answer breaks off', (check) => {
  check('is followed until the session is idle, and is asked for once', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    assert.equal(world.logged, ['turn-followed agent-failed']);
    await world.clock.advance(60_000);
    world.report(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'Paid'));
    assert.is(cameTo(turn), 'text: Paid | under way');
    world.state.messages = [...EARLIER, ASKED, WHOLE];
    world.state.busy.clear();
    await world.clock.advance(1000);
    await turn.ended;
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    assert.equal([world.callsTo('prompt'), turn.refusal(), world.clock.pending()], [1, undefined, 0]);
    assert.ok(world.callsTo('busySessions') <= 62);
  });

  check('and whose agent was started anew is interrupted', async () => {
    for (const last of [HALF, record(completed('a1', 'u1', { error: ABORTED }))]) {
      const world = createTurnWorld();
      const turn = await brokenOff(world);
      world.fail('busySessions', UNREACHED, 5);
      await world.clock.advance(5000);
      assert.is(cameTo(turn), 'under way');
      world.state.messages = [...EARLIER, ASKED, last];
      world.state.busy.clear();
      await world.clock.advance(2000);
      assert.match(cameTo(turn), /agent_interrupted$/);
    }
  });

  check('before anything was said is interrupted, whatever was said before it', async () => {
    const world = createTurnWorld();
    const turn = world.start({ knownMessageIDs: new Set(['u0']) });
    await world.clock.advance(0);
    world.state.messages = [...EARLIER];
    world.prompts[0]?.fail(LOST);
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'agent_interrupted');
  });

  check('is given up when its agent is not reached for two minutes, and not before', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    world.fail('busySessions', UNREACHED, 100);
    await world.clock.advance(102_000);
    world.fail('busySessions', UNREACHED, 1000);
    await world.clock.advance(119_000);
    assert.is(cameTo(turn), 'under way');
    await world.clock.advance(4000);
    assert.is(cameTo(turn), 'agent_interrupted');
    assert.equal([world.listening(), world.clock.pending()], [1, 0]);
  });

  check('fails as the agent says', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    const error = { name: 'APIError', data: { statusCode: 429 } };
    world.state.messages = [ASKED, record(completed('a1', 'u1', { error }))];
    world.state.busy.clear();
    await world.clock.advance(1000);
    assert.match(cameTo(turn), /rate_limit_exceeded$/);
  });

  check('and that is ended is no failure', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    void turn.abort();
    world.state.messages = [ASKED, record(completed('a1', 'u1', { error: ABORTED }), textPart('t1', 'a1', 'Paid'))];
    world.state.busy.clear();
    await world.clock.advance(1000);
    assert.is(cameTo(turn), 'text: Paid | stop');
    const other = createTurnWorld();
    const hanging = await brokenOff(other);
    void hanging.abort();
    await other.clock.advance(2000);
    assert.equal([cameTo(hanging), other.clock.pending()], ['stop', 0]);
  });

  check('is read once more when events are lost while it is read for the last time', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    world.state.busy.clear();
    const release = world.hold('messages');
    await world.clock.advance(1000);
    world.state.messages = [...EARLIER, ASKED, WHOLE];
    const releaseLater = world.hold('messages');
    world.lose();
    release();
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    releaseLater();
  });

  check('with a failure of the agent itself fails with that, where nothing more is known of it', async () => {
    for (const [failing, last, code] of [
      ['agent_failed', HALF, 'agent_failed'],
      ['agent_failed', WHOLE, 'stop'],
      ['agent_disk_full', HALF, 'agent_disk_full'],
      ['agent_store_failed', HALF, 'agent_store_failed'],
    ] as const) {
      const failure = { ...LOST, code: failing };
      const world = createTurnWorld();
      const turn = world.start();
      await world.clock.advance(0);
      world.state.messages = [ASKED, last];
      world.prompts[0]?.fail(failure);
      await world.clock.advance(0);
      assert.match(cameTo(turn), new RegExp(`${code}$`));
    }
  });

  check('and whose messages cannot be had is interrupted after two minutes', async () => {
    const world = createTurnWorld();
    const turn = await brokenOff(world);
    world.state.busy.clear();
    world.fail('messages', REFUSED, 1000);
    await world.clock.advance(130_000);
    assert.is(cameTo(turn), 'agent_interrupted');
  });
});

describe('a turn that was found under way', (check) => {
  const found = async (world: TurnWorld) => {
    world.state.busy.add(SESSION);
    world.state.messages = [
      ...EARLIER,
      ASKED,
      record(completed('a1', 'u1', { tokens: tokensOf(10, 1) }), textPart('t1', 'a1', 'I pay.', { isOver: true })),
    ];
    const turn = world.find();
    await turn.loaded;
    return turn;
  };

  check('is read from the messages, with its questions, and goes on with its events', async () => {
    const world = createTurnWorld();
    world.state.asks = [ask('per_1'), ask('per_2', 'ses_other')];
    const turn = await found(world);
    assert.equal([cameTo(turn), turn.promptID()], ['text: I pay. | under way', 'u1']);
    assert.equal(
      turn.log.approvalRequests().map(({ id }) => id),
      ['per_1'],
    );
    assert.is(turn.log.usage().prompt, 10);
    world.report(reported(assistantInfo('a2', 'u1')), textEventsIn('t2', 'a2', 'Paid.'));
    assert.is(cameTo(turn), 'text: I pay. | text: Paid. | under way');
    world.state.messages.push(record(completed('a2', 'u1'), textPart('t2', 'a2', 'Paid.', { isOver: true })));
    world.state.busy.clear();
    await world.clock.advance(1000);
    await turn.ended;
    assert.is(cameTo(turn), 'text: I pay. | text: Paid. | stop');
    assert.is(world.callsTo('prompt'), 0);
  });

  check('is not looked at before questions of its children are known to be its own', async () => {
    const world = createTurnWorld();
    world.parents.set('ses_child', SESSION);
    world.state.asks = [ask('per_1', 'ses_child')];
    const release = world.hold('session');
    let hasLooked = false;
    const turn = world.find();
    void turn.loaded.then(() => {
      hasLooked = true;
    });
    await world.clock.advance(0);
    assert.not.ok(hasLooked);
    release();
    await turn.loaded;
    assert.is(turn.log.approvalRequests().length, 1);
  });

  check('takes nothing of the turn before it, however early its events come', async () => {
    const world = createTurnWorld();
    world.state.busy.add(SESSION);
    const release = world.hold('messages');
    world.state.messages = [...EARLIER, ASKED, HALF];
    const turn = world.find();
    world.report(reported(userInfo('u0')), reported(completed('a0', 'u0')), textEventsIn('t0', 'a0', 'Hi'));
    release();
    await turn.loaded;
    assert.is(cameTo(turn), 'text: Paid | under way');
  });

  check('can be ended', async () => {
    const world = createTurnWorld();
    const turn = await found(world);
    const ended = turn.abort();
    await world.clock.advance(0);
    assert.is(world.callsTo('abort'), 1);
    world.state.busy.clear();
    await world.clock.advance(1000);
    await ended;
    assert.is(cameTo(turn), 'text: I pay. | stop');
  });

  check('that no one can read is looked at until it can be, or given up', async () => {
    const world = createTurnWorld();
    world.fail('messages', UNREACHED, 1000);
    world.fail('permissionRequests', UNREACHED, 1000);
    const turn = world.find();
    await world.clock.advance(300_000);
    await turn.loaded;
    await turn.ended;
    assert.is(cameTo(turn), 'agent_interrupted');
    assert.equal([world.listening(), world.clock.pending()], [1, 0]);
  });
});
