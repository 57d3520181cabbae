import * as assert from 'uvu/assert';
import type { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import {
  ask,
  asked,
  assistantInfo,
  born,
  questioned,
  record,
  replied,
  reported,
  textPart,
  userInfo,
} from '../harness/turn-events.ts';
import { cameTo, createTurnWorld, NOT_FOUND, type TurnWorld, UNREACHED } from '../harness/turn-world.ts';

const begun = async (world: TurnWorld) => {
  const turn = world.start();
  await world.clock.advance(0);
  world.report(reported(userInfo('u1')), reported(assistantInfo('a1', 'u1')));
  return { turn, asks: () => turn.log.approvalRequests().map(({ id }) => id) };
};

describe('questions of a turn', (check) => {
  check('are put to the user, and gone when somebody has answered them', async () => {
    const world = createTurnWorld();
    const { turn, asks } = await begun(world);
    world.report(asked(ask('per_1')), asked(ask('per_2')), asked(ask('per_1')));
    await world.clock.advance(0);
    assert.equal(asks(), ['per_1', 'per_2']);
    world.report(replied('per_1'));
    assert.equal(asks(), ['per_2']);
    await turn.answerPermission('per_2', { reply: 'once' });
    assert.equal([asks(), world.answers], [[], [{ id: 'per_2', answer: { reply: 'once' } }]]);
    assert.is(world.callsTo('session'), 0);
    world.report(replied('per_2'));
    assert.equal(world.logged, []);
  });

  check('stay open where the answer does not reach the agent', async () => {
    const world = createTurnWorld();
    const { turn, asks } = await begun(world);
    world.report(asked(ask('per_1')));
    await world.clock.advance(0);
    world.fail('answerPermission', UNREACHED);
    const thrown = await rejection(turn.answerPermission('per_1', { reply: 'once' }));
    assert.equal([(thrown as Fault).detail, asks()], [UNREACHED, ['per_1']]);
  });

  check('are gone where the agent knows them no more', async () => {
    const world = createTurnWorld();
    const { turn, asks } = await begun(world);
    world.report(asked(ask('per_1')));
    await world.clock.advance(0);
    world.fail('answerPermission', NOT_FOUND);
    const thrown = await rejection(turn.answerPermission('per_1', { reply: 'once' }));
    assert.equal([(thrown as Fault).detail.kind, asks()], ['not-found', []]);
  });

  check('can be answered to the end, also while the turn is being ended', async () => {
    const world = createTurnWorld();
    const { turn } = await begun(world);
    world.report(asked(ask('per_1')));
    await world.clock.advance(0);
    const release = world.hold('answerPermission');
    const answered = turn.answerPermission('per_1', { reply: 'reject', message: 'no' });
    void turn.abort();
    await world.clock.advance(2000);
    assert.is(cameTo(turn), 'stop');
    release();
    await answered;
    assert.equal(world.answers, [{ id: 'per_1', answer: { reply: 'reject', message: 'no' } }]);
  });

  check('are those of sessions below it, too, known or not', async () => {
    const world = createTurnWorld();
    const { asks } = await begun(world);
    world.parents.set('ses_grandchild', 'ses_child');
    world.report(born('ses_child', 'ses_1'), asked(ask('per_1', 'ses_child')), asked(ask('per_2', 'ses_grandchild')));
    await world.clock.advance(0);
    assert.equal(asks(), ['per_1', 'per_2']);
    assert.equal(
      world.calls.filter((call) => call.startsWith('session')),
      ['session ses_grandchild', 'session ses_1'],
    );
  });

  check('are not those of other sessions, nor of those that are gone', async () => {
    const world = createTurnWorld();
    const { asks } = await begun(world);
    world.report(asked(ask('per_1', 'ses_other')));
    await world.clock.advance(0);
    world.fail('session', NOT_FOUND);
    world.report(asked(ask('per_2', 'ses_gone')));
    await world.clock.advance(0);
    assert.equal([asks(), world.logged], [[], []]);
  });

  check('are not lost where it takes a while to find out whose they are', async () => {
    const world = createTurnWorld();
    const { asks } = await begun(world);
    world.parents.set('ses_child', 'ses_1');
    world.fail('session', UNREACHED, 2);
    world.report(asked(ask('per_1', 'ses_child')));
    await world.clock.advance(2000);
    assert.equal(asks(), ['per_1']);
  });

  check('are not open any more when they were answered before it was known whose they are', async () => {
    const world = createTurnWorld();
    const { asks } = await begun(world);
    world.parents.set('ses_child', 'ses_1');
    const release = world.hold('session');
    world.report(asked(ask('per_1', 'ses_child')));
    await world.clock.advance(0);
    world.report(replied('per_1', 'ses_child'));
    release();
    await world.clock.advance(0);
    assert.equal(asks(), []);
  });

  check('are looked for when events were lost, after the conversation before them', async () => {
    const world = createTurnWorld();
    const { turn, asks } = await begun(world);
    world.report(asked(ask('per_0')));
    await world.clock.advance(0);
    world.state.asks = [ask('per_9', 'ses_gone'), ask('per_0'), ask('per_1')];
    world.state.messages = [
      record(userInfo('u1'), textPart('p1', 'u1', 'Pay five')),
      record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'I pay.')),
    ];
    world.fail('session', NOT_FOUND);
    world.fail('permissionRequests', UNREACHED);
    const release = world.hold('messages');
    world.lose();
    await world.clock.advance(1000);
    assert.equal(asks(), ['per_0']);
    release();
    await world.clock.advance(0);
    assert.equal([asks(), cameTo(turn)], [['per_0', 'per_1'], 'text: I pay. | under way']);
  });

  check('that a list reports late are not open again', async () => {
    const world = createTurnWorld();
    const { asks } = await begun(world);
    world.state.asks = [ask('per_1')];
    const release = world.hold('messages');
    world.lose();
    await world.clock.advance(0);
    world.report(replied('per_1'));
    release();
    await world.clock.advance(0);
    assert.equal(asks(), []);
  });

  check('are gone with the turn, also those that come later', async () => {
    const world = createTurnWorld();
    const { turn, asks } = await begun(world);
    world.parents.set('ses_child', 'ses_1');
    const release = world.hold('session');
    world.report(asked(ask('per_1')), asked(ask('per_2', 'ses_child')));
    void turn.abort();
    await world.clock.advance(2000);
    release();
    await world.clock.advance(0);
    assert.equal([asks(), world.logged, world.clock.pending()], [[], [], 0]);
  });
});

describe('questions where no one can be asked', (check) => {
  check('are rejected, each once, with a word for the model', async () => {
    const world = createTurnWorld({ autoRejection: 'Nobody is there' });
    const { asks } = await begun(world);
    world.state.asks = [ask('per_1'), ask('per_2')];
    world.fail('answerPermission', UNREACHED);
    world.report(asked(ask('per_1')));
    world.lose();
    await world.clock.advance(1000);
    const answer = { reply: 'reject', message: 'Nobody is there' };
    assert.equal(asks(), []);
    assert.equal(
      [...world.answers].sort((left, right) => left.id.localeCompare(right.id)),
      [
        { id: 'per_1', answer },
        { id: 'per_2', answer },
      ],
    );
    assert.equal(world.logged, []);
  });

  check('are not rejected for other sessions', async () => {
    const world = createTurnWorld({ autoRejection: 'Nobody is there' });
    await begun(world);
    world.report(asked(ask('per_1', 'ses_other')));
    await world.clock.advance(0);
    assert.equal(world.answers, []);
  });

  check('that the agent knows no more are reported in the log', async () => {
    const world = createTurnWorld({ autoRejection: 'Nobody is there' });
    await begun(world);
    world.fail('answerPermission', NOT_FOUND);
    world.report(asked(ask('per_1')));
    await world.clock.advance(10_000);
    assert.equal([world.answers, world.logged], [[], ['ask-not-taken not-found']]);
  });
});

describe('a question that is no permission', (check) => {
  check('is turned down for this turn, its children, and no one else', async () => {
    const world = createTurnWorld();
    await begun(world);
    world.parents.set('ses_child', 'ses_1');
    world.fail('rejectQuestion', UNREACHED);
    world.report(questioned('que_1'), questioned('que_2', 'ses_child'), questioned('que_3', 'ses_other'));
    await world.clock.advance(1000);
    const rejected = world.calls.filter((call) => call.startsWith('rejectQuestion'));
    assert.equal(rejected.sort(), ['rejectQuestion que_1', 'rejectQuestion que_1', 'rejectQuestion que_2']);
    world.fail('rejectQuestion', NOT_FOUND);
    world.report(questioned('que_4'));
    await world.clock.advance(0);
    assert.equal(world.logged, ['question-not-rejected not-found']);
  });
});
