import * as assert from 'uvu/assert';
import type { PermissionRecord } from '../../../../src/bridge/agent/schema.ts';
import type { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import {
  ask,
  asked,
  assistantInfo,
  born,
  PENDING,
  questioned,
  record,
  replied,
  reported,
  running,
  SESSION,
  textPart,
  toolPart,
  userInfo,
} from '../../harness/turn-events.ts';
import { cameTo, createTurnWorld, NOT_FOUND, type TurnWorld, UNREACHED } from '../../harness/turn-world.ts';

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
    await world.clock.advance(3000);
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

describe('questions of an agent that sends no arguments with them', (check) => {
  /** As OpenCode asks about a call of an MCP server's tool. */
  const bare = (sessionID?: string): PermissionRecord => ({
    ...ask('per_1', sessionID),
    metadata: {},
    tool: { messageID: 'a1', callID: 'call_c1' },
  });
  const shownBy = async (world: TurnWorld, record = bare()) => {
    const { turn } = await begun(world);
    world.report(asked(record));
    await world.clock.advance(0);
    return () => turn.log.approvalRequests().map(({ input, isCut }) => [input, isCut === true]);
  };
  const call = (state: Parameters<typeof toolPart>[2]) =>
    record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'I pay.'), toolPart('c1', 'a1', state, 'pay'));

  check('show those of the call in its message', async () => {
    const world = createTurnWorld();
    world.state.messages = [call(running({ amount: 7 }))];
    assert.equal((await shownBy(world))(), [['{"amount":7}', false]]);
    assert.equal(
      world.calls.filter((name) => name.startsWith('message')),
      [`message ${SESSION} a1`],
    );
  });

  check('show those of a call in a session below it', async () => {
    const world = createTurnWorld();
    world.parents.set('ses_child', SESSION);
    const info = { ...assistantInfo('a1', 'u9'), sessionID: 'ses_child' };
    world.state.messages = [record(info, toolPart('c1', 'a1', running({ amount: 8 }), 'pay'))];
    assert.equal((await shownBy(world, bare('ses_child')))(), [['{"amount":8}', false]]);
  });

  check('wait until the agent has stored them', async () => {
    const world = createTurnWorld();
    world.state.messages = [call(PENDING)];
    const shown = await shownBy(world);
    await world.clock.advance(100);
    assert.equal(shown(), []);
    world.state.messages = [call(running({}))];
    await world.clock.advance(100);
    assert.equal(shown(), [['{}', false]]);
  });

  check('say so where the agent does not show them, and need the whole id', async () => {
    for (const messages of [[call(PENDING)], [record(assistantInfo('a1', 'u1'))], []]) {
      const world = createTurnWorld();
      world.state.messages = messages;
      const shown = await shownBy(world);
      await world.clock.advance(2000);
      assert.equal(shown(), [['(the agent server did not send the arguments)', true]]);
    }
  });

  check('are not open where they were answered meanwhile', async () => {
    const world = createTurnWorld();
    world.state.messages = [call(running({ amount: 7 }))];
    const release = world.hold('message');
    const shown = await shownBy(world);
    world.report(replied('per_1'));
    release();
    await world.clock.advance(2000);
    assert.equal([shown(), world.logged], [[], []]);
  });

  check('show what they have, and no message is read for it', async () => {
    const world = createTurnWorld();
    const shown = await shownBy(world, { ...bare(), metadata: { command: 'ls' } });
    assert.equal([shown(), world.callsTo('message')], [[['{"command":"ls"}', false]], 0]);
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
