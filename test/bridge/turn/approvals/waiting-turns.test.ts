import * as assert from 'uvu/assert';
import type { PermissionRecord } from '../../../../src/bridge/agent/schema.ts';
import type { ApprovalDecision } from '../../../../src/bridge/request.ts';
import { type AnswerSource, createWaitingTurns } from '../../../../src/bridge/turn/approvals/waiting-turns.ts';
import { LOG_START, readSentText, waitForOutcome } from '../../../../src/bridge/turn/outcome.ts';
import type { AgentTurn } from '../../../../src/bridge/turn/turn.ts';
import type { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import { asking } from '../../conversation/world.ts';
import { NEVER } from '../../harness/log-readers.ts';
import {
  ask,
  asked,
  assistantInfo,
  completed,
  itemsIn,
  record,
  replied,
  reported,
  SESSION,
  textEventsIn,
  textPart,
  userInfo,
} from '../../harness/turn-events.ts';
import { cameTo, createTurnWorld, NOT_FOUND, UNREACHED } from '../../harness/turn-world.ts';

const PAY = 'per_0001k3F9xQ';
const SEND = 'per_0002aB12cD';
const ANSWERED = record(completed('a1', 'u1'), textPart('t1', 'a1', 'I pay.', { isOver: true }));

/** A session in which something was said before, seen by one bridge after another. */
const pausing = () => {
  const world = createTurnWorld();
  const conversation = { sessionID: SESSION, knownMessageIDs: new Set(['u0']), lastToken: 'token', paused: undefined };
  let paused = createWaitingTurns(world.agent, world.needs);
  const outcomeAt = (going: Pick<AnswerSource, 'log' | 'from'>) =>
    waitForOutcome(going.log, going.from, { clock: world.clock, signal: NEVER });
  const goOn = (words: string, verdict?: ApprovalDecision, sessionID = SESSION) =>
    paused.resume({ ...conversation, sessionID }, asking({ words, approval: verdict }), NEVER);
  const pauseFor = async (...requests: readonly PermissionRecord[]) => {
    const turn = world.start({ knownMessageIDs: conversation.knownMessageIDs });
    const outcome = outcomeAt({ log: turn.log, from: LOG_START });
    await world.clock.advance(0);
    world.report(reported(userInfo('u1')), reported(assistantInfo('a1', 'u1')), textEventsIn('t1', 'a1', 'I pay.'));
    world.report(requests.map(asked));
    await world.clock.advance(100);
    paused.add(turn, await outcome);
    paused.setEnded({ sessionID: SESSION, token: conversation.lastToken });
    return turn;
  };
  return {
    ...world,
    goOn,
    /** Begins a turn whose answer ends with questions, as the bridge does. */
    pause: (...ids: readonly string[]) => pauseFor(...ids.map((id) => ask(id))),
    pauseFor,
    /** What is told where the bridge answers by itself. */
    async textFor(words: string, verdict?: ApprovalDecision): Promise<string> {
      const going = await goOn(words, verdict);
      if (going === undefined) return 'a new prompt';
      if (going.turn !== undefined) return 'the turn goes on';
      const outcome = outcomeAt(going);
      // With a question at its end it waits a moment for others.
      await world.clock.advance(100);
      return readSentText(going.log, going.from, await outcome);
    },
    outcomeAt,
    keep: (...given: Parameters<typeof paused.add>) => paused.add(...given),
    restart() {
      paused = createWaitingTurns(world.agent, world.needs);
    },
  };
};

describe('a turn that waits for an answer', (check) => {
  check('goes on where its answer ended, once it is approved', async () => {
    const world = pausing();
    const turn = await world.pause(PAY);
    const going = await world.goOn('approve k3F9xQ');
    assert.equal([going?.turn === turn, going?.ifSilent, world.callsTo('busySessions')], [true, undefined, 0]);
    assert.equal(world.answers, [{ id: PAY, answer: { reply: 'once' } }]);
    assert.ok(going);
    const next = world.outcomeAt(going);
    world.report(
      reported(completed('a1', 'u1')),
      reported(assistantInfo('a2', 'u1')),
      textEventsIn('t2', 'a2', 'Paid.'),
    );
    world.report(reported(completed('a2', 'u1')));
    world.prompts[0]?.answer(record(completed('a2', 'u1'), textPart('t2', 'a2', 'Paid.', { isOver: true })));
    await world.clock.advance(0);
    assert.is(readSentText(going.log, going.from, await next), 'Paid.');
    assert.is(world.callsTo('abort'), 0);
  });

  check('is informed of a rejection, and of its reason', async () => {
    for (const [words, answer] of [
      ['reject k3F9xQ', { reply: 'reject' }],
      ['reject k3F9xQ too much', { reply: 'reject', message: 'too much' }],
    ] as const) {
      const world = pausing();
      await world.pause(PAY);
      const going = await world.goOn(words);
      // The words that the user reads are from the agent, or from the bridge where it may have none.
      assert.is(going?.turn === undefined ? '' : (going.from.opening ?? going.ifSilent), 'Rejected: pay (k3F9xQ).');
      assert.is(going?.from.opening === undefined, answer.message !== undefined);
      assert.equal(world.answers, [{ id: PAY, answer }]);
    }
  });

  check('takes several answers at once, each once, and asks again for what is left', async () => {
    const world = pausing();
    await world.pause(PAY, SEND);
    assert.is(await world.textFor(`approve k3F9xQ ${PAY} aB12cD`), 'the turn goes on');
    assert.equal(
      world.answers.map(({ id }) => id),
      [PAY, SEND],
    );
    const other = pausing();
    await other.pause(PAY, SEND);
    const going = await other.goOn('approve aB12cD');
    assert.ok(going);
    const outcome = other.outcomeAt(going);
    await other.clock.advance(200);
    const { last } = await outcome;
    assert.equal(last.kind === 'end' && last.end.approvalRequests.map(({ id }) => id), [PAY]);
  });

  check('is answered by a header, whatever the words', async () => {
    const world = pausing();
    await world.pause(PAY);
    assert.match(
      await world.textFor('.', { isApproved: true, ids: ['per_unknown'] }),
      /^No open permission request has the id per_unknown\. Nothing was approved\./,
    );
    assert.equal(world.answers, []);
    assert.is(await world.textFor('reject k3F9xQ', { isApproved: true, ids: [PAY] }), 'the turn goes on');
    assert.equal(world.answers, [{ id: PAY, answer: { reply: 'once' } }]);
  });

  check('is approved by nothing else, and asks again', async () => {
    const world = pausing();
    await world.pause(PAY);
    const noID = 'This message contains no id of a permission request, so nothing was decided.';
    for (const [words, expected] of [
      ['yes', noID],
      ['ok', noID],
      ['Approved', noID],
      ['approve it', noID],
      ['approve', noID],
      ['no', noID],
      [`approve ${'it '.repeat(100)}`, noID],
      ['approve 9UsYbZ', 'No open permission request has the id 9UsYbZ. Nothing was approved.'],
      ['approve XXXXXX', 'No open permission request has the id XXXXXX. Nothing was approved.'],
      ['ok, reject "abcdef" please.', 'No open permission request has the id abcdef. Nothing was rejected.'],
      ['approve abcdef today', noID],
      ['approve everything', noID],
      ['reject 9UsYbZ', 'No open permission request has the id 9UsYbZ. Nothing was rejected.'],
      [
        'reject k3F9xQ approve 9UsYbZ',
        'No open permission request has the id 9UsYbZ. Nothing was approved or rejected.',
      ],
      [`approve ${SEND}`, `No open permission request has the id ${SEND}. Nothing was approved.`],
      ['approve k3F9xQ but less', 'Only "approve k3F9xQ" was understood, so nothing was decided.'],
      ['approve k3F9xQ?', 'Only a part of this message was understood, so nothing was decided.'],
      ['approve k3F9xQ reject k3F9xQ', 'This message approves and rejects k3F9xQ, so nothing was decided.'],
      ['approve all, reject k3F9xQ', 'This message approves and rejects k3F9xQ, so nothing was decided.'],
      ['k3F9xQ', 'This message names a permission request but does not begin with "approve" or "reject"'],
      ['what does K3f9xq cost?', 'This message names a permission request but does not begin with'],
      [
        `${'tell me a story '.repeat(2000)} of ${PAY}`,
        'This message names a permission request but does not begin with',
      ],
      [`approve k3F9xQ ${'!'.repeat(30_000)}`, 'This message is too long for a decision, so nothing was decided.'],
    ] as const) {
      const reported = await world.textFor(words);
      assert.ok(reported.startsWith(expected), `${words.slice(0, 40)} -> ${reported}`);
      assert.match(reported, /Reply "approve k3F9xQ"/, words.slice(0, 40));
    }
    assert.equal([world.answers, world.callsTo('abort'), world.callsTo('prompt')], [[], 0, 1]);
    assert.is(await world.textFor('approve k3F9xQ'), 'the turn goes on');
  });

  check('takes several decisions of one text, approvals first, and says what was decided', async () => {
    for (const words of [
      'reject k3F9xQ approve aB12cD',
      'reject k3F9xQ\napprove aB12cD',
      'Reject k3F9xQ. Approve aB12cD, thanks!',
    ]) {
      const world = pausing();
      await world.pause(PAY, SEND);
      const going = await world.goOn(words);
      assert.is(going?.from.opening, 'Approved: pay (aB12cD). Rejected: pay (k3F9xQ).', words);
      assert.equal(world.answers, [
        { id: SEND, answer: { reply: 'once' } },
        { id: PAY, answer: { reply: 'reject' } },
      ]);
    }
  });

  check('is decided with all others that were shown, and the answer lists them', async () => {
    const world = pausing();
    await world.pause(PAY, SEND);
    const late = 'per_0003zZ99zZ';
    world.report(asked(ask(late)));
    await world.clock.advance(0);
    const going = await world.goOn('approve all');
    assert.is(going?.from.opening, 'Approved: pay (k3F9xQ), pay (aB12cD).');
    assert.equal(
      world.answers.map(({ id }) => id),
      [PAY, SEND],
    );
    const other = pausing();
    await other.pause(PAY, SEND);
    other.report(replied(PAY));
    assert.is((await other.goOn('reject all'))?.from.opening, 'Rejected: pay (aB12cD).');
    assert.equal(other.answers, [{ id: SEND, answer: { reply: 'reject' } }]);
  });

  check('is not approved with all others where its input is cut, and the answer says so', async () => {
    const huge = {
      ...ask(SEND),
      metadata: { input: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`a${at}`, at])) },
    };
    const world = pausing();
    await world.pauseFor(ask(PAY), huge);
    const going = await world.goOn('approve all');
    assert.is(going?.from.opening, 'Approved: pay (k3F9xQ). Not approved, because the input is cut: pay (aB12cD).');
    assert.equal(world.answers, [{ id: PAY, answer: { reply: 'once' } }]);
    const other = pausing();
    await other.pauseFor(huge);
    assert.match(
      await other.textFor('approve all'),
      /^The input of the permission request aB12cD is cut.*whole id: "approve per_0002aB12cD"\. Nothing was approved\./,
    );
    assert.is((await other.goOn('reject all'))?.from.opening, 'Rejected: pay (aB12cD).');
  });

  check('that a rejection has closed at the agent counts as rejected', async () => {
    const world = pausing();
    await world.pause(PAY, SEND);
    const { answerPermission } = world.agent;
    const answered: typeof answerPermission = async (id, answer, signal) => {
      if (id === SEND) world.fail('answerPermission', NOT_FOUND);
      return answerPermission(id, answer, signal);
    };
    Object.assign(world.agent, { answerPermission: answered });
    assert.is((await world.goOn('reject k3F9xQ aB12cD'))?.from.opening, 'Rejected: pay (k3F9xQ), pay (aB12cD).');
  });

  check('takes none of several answers when one of them names no question', async () => {
    const world = pausing();
    await world.pause(PAY);
    const reported = await world.textFor('.', { isApproved: true, ids: [PAY, 'per_unknown'] });
    assert.match(reported, /Nothing was approved\.\n\nThe agent asks for approval: pay/);
    assert.equal(world.answers, []);
  });

  check('is ended by other words, which are a new prompt', async () => {
    const world = pausing();
    const turn = await world.pause(PAY);
    const going = world.textFor('tell me a joke');
    await world.clock.advance(2000);
    assert.is(await going, 'a new prompt');
    assert.equal([world.callsTo('abort'), world.answers], [1, []]);
    await turn.ended;
    assert.match(await world.textFor('approve k3F9xQ'), /^There is no open permission request/);
    assert.is(await world.textFor('tell me another'), 'a new prompt');
    assert.is(world.callsTo('abort'), 1);
  });

  check('is over with its request, which cannot be answered any more', async () => {
    const world = pausing();
    const turn = await world.pause(PAY);
    world.report(replied(PAY), reported(completed('a1', 'u1')));
    world.prompts[0]?.answer(ANSWERED);
    await turn.ended;
    assert.match(await world.textFor('approve k3F9xQ'), /^There is no open permission request/);
    assert.match(await world.textFor(`approve ${PAY}`), /^There is no open permission request/);
    assert.equal([world.answers, world.callsTo('abort')], [[], 0]);
    assert.is(await world.textFor('yes'), 'a new prompt');
  });

  check('gives the output since then to anyone who answers too late, once', async () => {
    const world = pausing();
    const turn = await world.pause(PAY);
    const info = completed('a1', 'u1');
    world.report(replied(PAY), textEventsIn('t2', 'a1', 'Nobody answered, so I have not paid.'), reported(info));
    world.prompts[0]?.answer(
      record(
        info,
        textPart('t1', 'a1', 'I pay.', { isOver: true }),
        textPart('t2', 'a1', 'Nobody answered, so I have not paid.', { isOver: true }),
      ),
    );
    await turn.ended;
    assert.match(
      await world.textFor('approve k3F9xQ'),
      /Nothing was approved\.\n\nNobody answered, so I have not paid\.$/,
    );
    assert.match(await world.textFor('approve k3F9xQ'), /Nothing was approved\.$/);
    assert.equal(world.answers, []);
  });

  check('cannot be answered a second time', async () => {
    const world = pausing();
    await world.pause(PAY);
    await world.goOn('approve k3F9xQ');
    for (const words of ['approve k3F9xQ', 'reject k3F9xQ', `approve ${PAY}`])
      assert.match(await world.textFor(words), /^There is no open permission request/, words);
    assert.is(world.answers.length, 1);
  });

  check('says so where the agent has closed the question meanwhile', async () => {
    const world = pausing();
    await world.pause(PAY, SEND);
    world.fail('answerPermission', NOT_FOUND);
    assert.match(
      await world.textFor('approve k3F9xQ'),
      /^The permission request k3F9xQ is not open any more: [\s\S]*Nothing was approved\.[\s\S]*approve aB12cD/,
    );
    world.fail('answerPermission', NOT_FOUND);
    assert.match(await world.textFor('approve aB12cD'), /^There is no open permission request[^"]*$/);
    assert.equal(world.answers, []);
    const other = pausing();
    await other.pause(PAY, SEND);
    other.fail('answerPermission', NOT_FOUND);
    assert.is(await other.textFor('approve k3F9xQ aB12cD'), 'the turn goes on');
    assert.equal(
      other.answers.map(({ id }) => id),
      [SEND],
    );
  });

  check('still waits where the answer did not reach the agent', async () => {
    const world = pausing();
    await world.pause(PAY);
    world.fail('answerPermission', UNREACHED);
    assert.equal(((await rejection(world.goOn('approve k3F9xQ'))) as Fault).detail, UNREACHED);
    assert.is(await world.textFor('approve k3F9xQ'), 'the turn goes on');
  });

  check('is not known to other sessions', async () => {
    const world = pausing();
    await world.pause(PAY);
    for (const words of ['approve k3F9xQ', `approve ${PAY}`, 'approve all']) {
      const going = await world.goOn(words, undefined, 'ses_2');
      assert.ok(going !== undefined && going.turn === undefined);
    }
    assert.equal(world.answers, []);
  });
});

describe('a session in which nothing waits', (check) => {
  check('takes every message as a prompt, but for those that name a question', async () => {
    const world = pausing();
    for (const words of [
      ...['hello', 'yes', 'reject the offer', 'approve periods', 'approve the merge request', 'approve PR1234'],
      ...['approve', 'approve 123456', 'approve all open merge requests', 'Approve GitHub access', 'please approve it'],
    ])
      assert.is(await world.textFor(words), 'a new prompt', words);
    for (const words of [
      ...[`approve ${PAY}`, ` Reject ${PAY} no`, 'approve k3F9xQ', 'please reject k3F9xQ, thanks', 'approve all'],
      ...['Reject all.', `approve ${PAY} but less`, 'approve k3F9xQ aB12cD'],
    ])
      assert.match(await world.textFor(words), /^There is no open permission request/, words);
    assert.match(await world.textFor('.', { isApproved: true, ids: ['x'] }), /Nothing was approved\.$/);
  });

  check('is asked about at the agent once, and not at all where nothing was said', async () => {
    const world = pausing();
    await world.goOn('hello');
    await world.goOn('hello');
    assert.is(world.callsTo('busySessions'), 1);
    await createWaitingTurns(world.agent, world.needs).resume(
      { sessionID: SESSION, knownMessageIDs: new Set(), lastToken: undefined, paused: undefined },
      asking(),
      NEVER,
    );
    assert.is(world.callsTo('busySessions'), 1);
  });

  check('is asked about again where that failed', async () => {
    const world = pausing();
    world.fail('busySessions', UNREACHED);
    assert.equal(((await rejection(world.goOn('hello'))) as Fault).detail, UNREACHED);
    await world.goOn('hello');
    assert.is(world.callsTo('busySessions'), 2);
  });
});

describe('a turn that waited before the bridge was started anew', (check) => {
  const restarted = () => {
    const world = pausing();
    world.state.busy.add(SESSION);
    world.state.asks = [ask(PAY)];
    world.state.messages = [
      record(userInfo('u0'), textPart('p0', 'u0', 'Hello')),
      record(userInfo('u1'), textPart('p1', 'u1', 'Pay five')),
      record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'I pay.', { isOver: true })),
    ];
    return world;
  };

  check('is found and goes on, and what was sent before is not sent again', async () => {
    const world = restarted();
    const going = await world.goOn('approve k3F9xQ');
    assert.ok(going?.turn);
    assert.equal(world.answers, [{ id: PAY, answer: { reply: 'once' } }]);
    const outcome = world.outcomeAt(going);
    world.state.messages[2] = ANSWERED;
    world.state.messages.push(record(completed('a2', 'u1'), textPart('t2', 'a2', 'Paid.', { isOver: true })));
    world.state.busy.clear();
    await world.clock.advance(1000);
    assert.is(readSentText(going.log, going.from, await outcome), 'Paid.');
    assert.equal(itemsIn(going.log), ['text: I pay.', 'text: Paid.']);
    assert.is(world.callsTo('prompt'), 0);
  });

  check('asks again of who says yes', async () => {
    const world = restarted();
    assert.match(await world.textFor('yes'), /Reply "approve k3F9xQ"/);
    assert.is(await world.textFor('approve k3F9xQ'), 'the turn goes on');
  });

  check('is not decided by "all" before its questions were shown', async () => {
    const world = restarted();
    assert.match(
      await world.textFor('approve all'),
      /^The open permission requests were not in the last answer: .*Reply "approve k3F9xQ"/s,
    );
    assert.equal(world.answers, []);
    assert.is((await world.goOn('approve all'))?.from.opening, 'Approved: pay (k3F9xQ).');
  });

  check('is ended by other words', async () => {
    const world = restarted();
    const going = world.textFor('tell me a joke');
    await world.clock.advance(0);
    world.state.busy.clear();
    await world.clock.advance(2000);
    assert.is(await going, 'a new prompt');
    assert.is(world.callsTo('abort'), 1);
  });

  check('is found once for all its questions', async () => {
    const world = restarted();
    await world.goOn('yes');
    await world.goOn('yes');
    assert.equal([world.callsTo('messages'), world.callsTo('permissionRequests')], [1, 1]);
  });
});

describe('very many turns that wait', (check) => {
  /** Puts the newest of them after so many others. */
  const crowded = async (others: number) => {
    const world = pausing();
    await world.goOn('hello');
    const turn = await world.pause(PAY);
    const from = { ...LOG_START, items: turn.log.closeTexts() };
    const keepOther = (name: string): void => world.keep({ ...turn, sessionID: () => name }, from);
    for (let other = 0; other < others; other++) keepOther(`ses_other${other}`);
    return { world, turn, keepOther, keepAgain: () => world.keep(turn, from) };
  };
  const end = async (world: ReturnType<typeof pausing>, ...turns: readonly (AgentTurn | undefined)[]) => {
    for (const turn of turns) void turn?.abort();
    await world.clock.advance(3000);
  };

  check('are not all kept, and the forgotten ones are found again', async () => {
    const { world, turn } = await crowded(1000);
    world.state.busy.add(SESSION);
    world.state.asks = [ask(PAY)];
    world.state.messages = [record(userInfo('u1'), textPart('p1', 'u1', 'Pay five'))];
    const going = await world.goOn('approve k3F9xQ');
    assert.ok(going?.turn !== undefined && going.turn !== turn);
    assert.match(cameTo(going.turn), /under way$/);
    await end(world, turn, going.turn);
  });

  check('are kept if they are the newest', async () => {
    const { world, turn, keepOther, keepAgain } = await crowded(999);
    keepAgain();
    keepOther('ses_new');
    assert.is((await world.goOn('approve k3F9xQ'))?.turn, turn);
    await end(world, turn);
  });
});
