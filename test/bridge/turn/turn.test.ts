import { getEventListeners } from 'node:events';
import * as assert from 'uvu/assert';
import type { AgentEventRecord } from '../../../src/bridge/agent/schema.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import {
  assistantInfo,
  completed,
  record,
  reported,
  SESSION,
  shown,
  textEventsIn,
  textPart,
  userInfo,
} from '../harness/turn-events.ts';
import {
  cameTo,
  createTurnWorld,
  NOT_FOUND,
  PROMPT,
  REFUSED,
  type TurnWorld,
  UNREACHED,
} from '../harness/turn-world.ts';

const ASKED = record(userInfo('u1'), textPart('p1', 'u1', 'Pay five'));
const BEGUN: readonly AgentEventRecord[] = [
  reported(userInfo('u1')),
  shown(textPart('p1', 'u1', 'Pay five')),
  reported(assistantInfo('a1', 'u1')),
];
const RECORDED: readonly AgentEventRecord[] = [...BEGUN, ...textEventsIn('t1', 'a1', 'Paid', ' five.')];
const ENDED = reported(completed('a1', 'u1'));
const ANSWER = record(completed('a1', 'u1'), textPart('t1', 'a1', 'Paid five.', { isOver: true }));

/** A prompt that has reached the agent. */
const prompted = async (world: TurnWorld) => {
  const turn = world.start();
  await world.clock.advance(0);
  return turn;
};

describe('a turn', (check) => {
  check('asks the agent once, and is what its events report', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    await turn.loaded;
    assert.equal([world.prompts[0]?.sessionID, world.prompts[0]?.prompt], [SESSION, PROMPT]);
    world.report(RECORDED);
    assert.is(cameTo(turn), 'text: Paid five. | under way');
    world.report(ENDED);
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    assert.equal([turn.promptID(), turn.sessionID(), turn.isAborted()], ['u1', SESSION, false]);
    assert.equal(world.calls, [`prompt ${SESSION}`]);
    await turn.ended;
    assert.equal([world.listening(), world.clock.pending(), world.logged], [1, 0, []]);
  });

  check('ends as its last message says', async () => {
    const ends = [
      [{ finish: 'length' }, 'length'],
      [{ finish: 'content-filter' }, 'content_filter'],
      [{ error: { name: 'APIError', data: { statusCode: 429 } } }, 'rate_limit_exceeded'],
      // Nobody here has ended it, so it is not told as if it were whole.
      [{ error: { name: 'MessageAbortedError', data: {} } }, 'agent_interrupted'],
    ] as const;
    for (const [more, code] of ends) {
      const world = createTurnWorld();
      const turn = await prompted(world);
      const info = completed('a1', 'u1', more);
      world.report(BEGUN, reported(info));
      world.prompts[0]?.answer(record(info));
      await turn.ended;
      assert.is(cameTo(turn), code);
    }
  });

  check('is over as soon as its events have come, where these are behind the answer', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(240);
    world.report(RECORDED);
    await world.clock.advance(5);
    assert.is(cameTo(turn), 'text: Paid five. | under way');
    world.report(ENDED);
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    assert.equal([world.callsTo('messages'), world.clock.pending()], [0, 0]);
  });

  check('looks at the messages where its events do not come in time', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.state.messages = [ASKED, record(completed('a0', 'u1'), textPart('t0', 'a0', 'I pay.')), ANSWER];
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(249);
    assert.is(world.callsTo('messages'), 0);
    await world.clock.advance(1);
    assert.is(cameTo(turn), 'text: I pay. | text: Paid five. | stop');
    world.report(RECORDED);
    assert.is(cameTo(turn), 'text: I pay. | text: Paid five. | stop');
    assert.is(turn.promptID(), 'u1');
  });

  check('takes what the answer says that neither events nor messages did', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(BEGUN);
    world.state.messages = [ASKED, record(assistantInfo('a1', 'u1'))];
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(250);
    assert.is(cameTo(turn), 'text: Paid five. | stop');
  });

  check('is read by the prompt that its answer names, where it was taken for another', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(reported(userInfo('u9')), RECORDED, ENDED);
    world.state.messages = [ASKED, record(completed('a0', 'u1'), textPart('t0', 'a0', 'I pay.')), ANSWER];
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(250);
    assert.equal([cameTo(turn), turn.promptID()], ['text: I pay. | text: Paid five. | stop', 'u1']);
  });

  check('receives nothing of other sessions', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(reported(userInfo('u1', 'ses_2')));
    assert.is(turn.promptID(), undefined);
  });

  check('asks again for messages that it cannot have, for two minutes', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.fail('messages', UNREACHED, 3);
    world.fail('messages', REFUSED);
    world.state.messages = [ASKED, ANSWER];
    world.prompts[0]?.answer(ANSWER);
    await world.clock.advance(250 + 14_999);
    assert.is(cameTo(turn), 'under way');
    await world.clock.advance(1);
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    const other = createTurnWorld();
    const failing = await prompted(other);
    other.fail('messages', UNREACHED, 1000);
    other.prompts[0]?.answer(ANSWER);
    await other.clock.advance(119_000);
    assert.is(cameTo(failing), 'under way');
    await other.clock.advance(3000);
    assert.is(cameTo(failing), 'agent_interrupted');
    assert.equal(other.logged, ['turn-lost backend-error']);
  });

  check('that breaks on a bug of ours is over all the same', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.prompts[0]?.answer({ info: userInfo('u1'), parts: undefined } as never);
    await world.clock.advance(1000);
    assert.is(cameTo(turn), 'agent_interrupted');
    assert.equal(world.logged, ['turn-lost bug']);
    assert.is(world.listening(), 1);
  });
});

describe('a prompt that the agent does not take', (check) => {
  check('is a failed turn in the words of the refusal, of which nothing was begun', async () => {
    const refusals = [
      [REFUSED, 'agent_refused'],
      [{ ...REFUSED, code: 'agent_unauthorized' }, 'agent_unauthorized'],
      [{ ...REFUSED, code: 'agent_busy', isRetryable: true }, 'agent_busy'],
      [UNREACHED, 'agent_unreachable'],
      [{ kind: 'unavailable', message: 'The agent server is not ready', retryAfterMs: 1 }, 'unavailable'],
    ] as const;
    for (const [detail, code] of refusals) {
      const world = createTurnWorld();
      const turn = await prompted(world);
      world.prompts[0]?.fail(detail);
      await turn.ended;
      assert.is(cameTo(turn), code);
      assert.equal(turn.refusal()?.detail, detail);
      assert.equal([world.calls.length, world.listening(), world.clock.pending()], [1, 1, 0]);
    }
  });

  check('because it has lost the session is asked once more, in another one', async () => {
    const world = createTurnWorld();
    const other = { ...PROMPT, system: 'what was said before' };
    const turn = world.start({ renewSession: async () => ({ sessionID: 'ses_2', prompt: other }) });
    await world.clock.advance(0);
    world.prompts[0]?.fail(NOT_FOUND);
    await world.clock.advance(0);
    assert.equal([turn.sessionID(), world.prompts[1]?.sessionID, world.prompts[1]?.prompt], ['ses_2', 'ses_2', other]);
    world.report(
      reported(userInfo('u0')),
      reported(userInfo('u1', 'ses_2')),
      reported(assistantInfo('a1', 'u1', { sessionID: 'ses_2' })),
    );
    assert.is(turn.promptID(), 'u1');
    world.prompts[1]?.fail(NOT_FOUND);
    await turn.ended;
    assert.equal([cameTo(turn), turn.refusal()?.detail.kind, world.prompts.length], ['not_found', 'not-found', 2]);
  });

  check('and for which there is no other session is informed why', async () => {
    const world = createTurnWorld();
    const turn = world.start({
      renewSession: async () => {
        throw new Fault(UNREACHED);
      },
    });
    await world.clock.advance(0);
    world.prompts[0]?.fail(NOT_FOUND);
    await turn.ended;
    assert.equal([cameTo(turn), turn.refusal()?.detail], ['agent_unreachable', UNREACHED]);
  });
});

describe('a turn of which events were lost', (check) => {
  check('is read from the messages, and reported in order', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(BEGUN);
    const release = world.hold('messages');
    world.state.messages = [ASKED, ANSWER];
    world.lose();
    world.report(reported(assistantInfo('a2', 'u1')), textEventsIn('t2', 'a2', 'And more.'));
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'under way');
    release();
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'text: Paid five. | text: And more. | under way');
    world.report(reported(completed('a2', 'u1')));
    world.prompts[0]?.answer(record(completed('a2', 'u1'), textPart('t2', 'a2', 'And more.')));
    await turn.ended;
    assert.is(cameTo(turn), 'text: Paid five. | text: And more. | stop');
    assert.is(world.callsTo('messages'), 2);
  });

  check('is not read from messages that were listed before the last loss', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(BEGUN);
    const release = world.hold('messages');
    world.lose();
    await world.clock.advance(0);
    world.state.messages = [ASKED, ANSWER];
    world.lose();
    world.report(reported(assistantInfo('a2', 'u1')), textEventsIn('t2', 'a2', 'And more.'));
    release();
    await world.clock.advance(0);
    assert.is(cameTo(turn), 'text: Paid five. | text: And more. | under way');
  });

  check('looks for nothing any more once it is over', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.fail('permissionRequests', UNREACHED, 1000);
    world.state.messages = [ASKED, ANSWER];
    world.lose();
    world.prompts[0]?.answer(ANSWER);
    await turn.ended;
    await world.clock.advance(0);
    assert.equal([cameTo(turn), world.clock.pending(), world.logged], ['text: Paid five. | stop', 0, []]);
  });

  check('reports in the log what it could not read, and ends all the same', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.fail('permissionRequests', UNREACHED, 1000);
    world.fail('messages', UNREACHED, 19);
    world.lose();
    await world.clock.advance(125_000);
    assert.equal([...world.logged].sort(), ['agent-not-read backend-error', 'asks-not-read backend-error']);
    world.state.messages = [ASKED, ANSWER];
    world.prompts[0]?.answer(ANSWER);
    await turn.ended;
    assert.is(cameTo(turn), 'text: Paid five. | stop');
  });

  check('is read as soon as the agent can be asked again', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.fail('messages', UNREACHED, 2);
    world.state.messages = [ASKED, ANSWER];
    world.lose();
    await world.clock.advance(2999);
    assert.is(cameTo(turn), 'under way');
    await world.clock.advance(1);
    assert.is(cameTo(turn), 'text: Paid five. | under way');
  });
});

describe('the end of a turn by somebody who does not want it any more', (check) => {
  check('is sent to the agent once, and its output until then stays', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(RECORDED);
    const ends = [turn.abort(), turn.abort()];
    assert.ok(turn.isAborted());
    await world.clock.advance(0);
    const info = completed('a1', 'u1', { error: { name: 'MessageAbortedError', data: {} } });
    world.report(reported(info));
    world.prompts[0]?.answer(record(info));
    await Promise.all([...ends, turn.ended]);
    await turn.abort();
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    assert.equal([world.callsTo('abort'), world.clock.pending(), world.logged], [1, 0, []]);
  });

  check('does not wait for an agent that does not answer', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(RECORDED);
    const ended = turn.abort();
    await world.clock.advance(1999);
    assert.is(cameTo(turn), 'text: Paid five. | under way');
    await world.clock.advance(1);
    await ended;
    await turn.ended;
    assert.is(cameTo(turn), 'text: Paid five. | stop');
    assert.equal([world.listening(), world.clock.pending()], [1, 0]);
  });

  check('comes also where the agent cannot be informed', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    world.report(BEGUN);
    world.fail('abort', UNREACHED);
    const ended = turn.abort();
    await world.clock.advance(2000);
    await ended;
    assert.is(cameTo(turn), 'stop');
    assert.equal(world.logged, ['turn-not-aborted backend-error']);
  });

  check('waits a moment for a prompt that is still on its way', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    void turn.abort();
    await world.clock.advance(500);
    assert.is(world.callsTo('abort'), 0);
    world.report(BEGUN);
    await world.clock.advance(0);
    assert.is(world.callsTo('abort'), 1);
    const lossy = createTurnWorld();
    const listed = await prompted(lossy);
    void listed.abort();
    lossy.state.messages = [ASKED];
    lossy.lose();
    await lossy.clock.advance(0);
    assert.is(lossy.callsTo('abort'), 1);
    const other = createTurnWorld();
    const unhandled = await prompted(other);
    void unhandled.abort();
    await other.clock.advance(999);
    assert.is(other.callsTo('abort'), 0);
    await other.clock.advance(1);
    assert.is(other.callsTo('abort'), 1);
  });

  check('ends nothing else when the turn is over', async () => {
    const world = createTurnWorld();
    const turn = await prompted(world);
    void turn.abort();
    world.prompts[0]?.fail(REFUSED);
    await turn.ended;
    await world.clock.advance(0);
    await turn.abort();
    assert.equal([world.callsTo('abort'), world.clock.pending()], [0, 0]);
  });

  check('ends the waiting for anything else', async () => {
    const world = createTurnWorld();
    const signals: AbortSignal[] = [];
    const agent = {
      ...world.agent,
      messages: (id: string, signal: AbortSignal) => {
        signals.push(signal);
        return world.agent.messages(id, signal);
      },
    };
    Object.assign(world.needs, { agent });
    const turn = await prompted(world);
    world.report(BEGUN);
    world.hold('messages');
    world.lose();
    await world.clock.advance(0);
    void turn.abort();
    await world.clock.advance(2000);
    await turn.ended;
    const [signal] = signals;
    assert.ok(signal?.aborted);
    assert.is(signal === undefined ? -1 : getEventListeners(signal, 'abort').length, 0);
    assert.equal([cameTo(turn), world.logged], ['stop', []]);
  });
});
