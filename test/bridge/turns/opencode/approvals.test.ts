import * as assert from 'uvu/assert';
import { calling, outcome, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { begun, readUntilPause, refusalOf, textOf, untilSo, user, withTurns } from './world.ts';

const ASKING = {
  scripts: [calling({ name: 'pay', input: { sum: 5 } }), replying('paid')],
  tools: [toolNamed('pay', async () => outcome('done'))],
  rules: [{ permission: '*', pattern: '*', action: 'ask' }],
} as const;

describe('turns at an OpenCode server: approvals', (check) => {
  check('a turn waits with the arguments of the call, and a decision continues it in another turn', () =>
    withTurns(ASKING, async ({ ask, turns, by }) => {
      const waiting = await ask({ conversation: { name: 'chat' }, isCompared: true, input: [user('pay')] });
      assert.is(waiting.turn.status, 'waiting');
      const [request] = waiting.turn.waiting;
      assert.equal(request?.metadata.input, { sum: 5 });
      assert.equal(
        (await turns.waitingTurns(by)).map(({ id }) => id),
        [waiting.turn.id],
      );
      const decisions = [{ requestID: request!.id, reply: 'once' }] as const;
      const next = await ask({ conversation: { name: 'chat' }, decisions, input: [] });
      assert.is(next.turn.status, 'completed');
      assert.is(next.text, 'paid');
      assert.is(next.turn.promptID, waiting.turn.promptID);
      const types = [...waiting.entries, ...next.entries].map(({ type }) => type);
      assert.equal(types, ['call', 'call-ended', 'step', 'text', 'text-ended', 'step']);
      const before = await turns.view(waiting.turn.id, by);
      assert.is(before.status, 'continued');
      assert.is(before.continuedBy, next.turn.id);
      assert.equal(before.shownIDs, [request!.id]);
      assert.is(before.until, next.turn.from);
      assert.equal((await turns.read(waiting.turn.id, by)).entries, waiting.entries);
      assert.equal((await turns.read(next.turn.id, by)).entries, next.entries);
    }),
  );

  check('a decision without a conversation finds the turn by the request', () =>
    withTurns(ASKING, async ({ ask }) => {
      const { turn } = await ask();
      const decisions = [{ requestID: turn.waiting[0]!.id, reply: 'reject', message: 'too much' }] as const;
      const next = await ask({ decisions, input: [] });
      assert.is(next.turn.conversationID, turn.conversationID);
      const ended = next.entries.find((entry) => entry.type === 'call-ended');
      assert.ok(ended?.type === 'call-ended' && ended.isError);
    }),
  );

  check('a decision after the turn that waits continues it, and its retry joins', () =>
    withTurns(ASKING, async ({ ask }) => {
      const { turn } = await ask();
      const decisions = [{ requestID: turn.waiting[0]!.id, reply: 'once' }] as const;
      const request = { conversation: { after: turn.id }, decisions, input: [], key: 'k', isKeyOfClient: true };
      const first = await ask({ ...request, digest: 'same' });
      const again = await ask({ ...request, digest: 'same' });
      assert.is(again.outcome, 'joined');
      assert.is(again.turn.id, first.turn.id);
      assert.is(again.text, 'paid');
    }),
  );

  check('a decision on a request that is not open is refused', () =>
    withTurns(ASKING, async ({ ask, begin, turns, by }) => {
      const { turn } = await ask();
      const decisions = [{ requestID: 'per_unknown', reply: 'once' }] as const;
      assert.is(await refusalOf(begin({ decisions, input: [] })), 'no_such_request');
      assert.is(await refusalOf(turns.decide(turn.id, decisions, by)), 'no_such_request');
      assert.is((await turns.view(turn.id, by)).status, 'waiting');
      const other = [{ requestID: turn.waiting[0]!.id, reply: 'once' }] as const;
      assert.is(
        await refusalOf(begin({ decisions: other, input: [] }, { ...by, owner: 'another' })),
        'no_such_request',
      );
    }),
  );

  check('a decision without another turn lets the turn go on', () =>
    withTurns(ASKING, async ({ begin, turns, by }) => {
      const { turn, events } = begun(await begin());
      const { turn: waiting } = await readUntilPause(events);
      await turns.decide(turn.id, [{ requestID: waiting!.waiting[0]!.id, reply: 'once' }], by);
      await untilSo(async () => (await turns.view(turn.id, by)).status === 'completed');
      assert.is(textOf((await turns.read(turn.id, by)).entries), 'paid');
    }),
  );

  check('new input is refused while a turn waits, or aborts it', () =>
    withTurns(
      { ...ASKING, scripts: [...ASKING.scripts.slice(0, 1), replying('on')] },
      async ({ ask, begin, turns, by }) => {
        const conversation = { name: 'chat' };
        const { turn } = await ask({ conversation });
        const kept = await begin({ conversation });
        assert.is(kept.outcome, 'waiting');
        assert.is('turn' in kept && kept.turn.id, turn.id);
        const next = await ask({ conversation, ifWaiting: 'abort' });
        assert.is(next.text, 'on');
        assert.is(next.turn.sessionID, turn.sessionID);
        assert.is((await turns.view(turn.id, by)).status, 'aborted');
      },
    ),
  );

  check('a question that no client can answer is rejected', () =>
    withTurns({ ...ASKING, scripts: [calling({ name: 'pay', input: {} }), replying('on')] }, async (world) => {
      const { turn } = await world.ask();
      world.report({ type: 'question.asked', properties: { id: 'que_1', sessionID: turn.sessionID } });
      await untilSo(() => world.calls.some(({ path }) => path === '/question/que_1/reject'));
    }),
  );
});
