import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { calling, hanging, replying, type Script, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { begun, readUntilPause, refusalOf, textOf, untilSo, untilThinking, user, withTurns } from './world.ts';

const ALLOWED = { rules: [{ permission: '*', pattern: '*', action: 'allow' }] } as const;

describe('turns at an OpenCode server: joining', (check) => {
  check('a request with a known key joins its turn and reads all of it', () =>
    withTurns({}, async ({ ask, agent }) => {
      const first = await ask({ key: 'mine', isKeyOfClient: true, digest: 'same' });
      const second = await ask({ key: 'mine', isKeyOfClient: true, digest: 'same' });
      assert.is(second.outcome, 'joined');
      assert.is(second.turn.id, first.turn.id);
      assert.is(second.text, first.text);
      assert.is(agent.asked.length, 1);
    }),
  );

  check('a key of another request is refused, and another owner has keys of its own', () =>
    withTurns({}, async ({ ask, begin, by }) => {
      await ask({ key: 'mine', isKeyOfClient: true, digest: 'same' });
      assert.is(await refusalOf(begin({ key: 'mine', isKeyOfClient: true, digest: 'other' })), 'key_reused');
      const { outcome } = await ask({ key: 'mine', isKeyOfClient: true, digest: 'other' }, { ...by, owner: 'another' });
      assert.is(outcome, 'begun');
    }),
  );

  check('two equal requests at the same moment make one turn', () =>
    withTurns({}, async ({ ask, agent }) => {
      const request = { key: 'mine', isKeyOfClient: true, digest: 'same' };
      const both = await Promise.all([ask(request), ask(request)]);
      assert.equal(both.map(({ outcome }) => outcome).sort(), ['begun', 'joined']);
      assert.equal(
        both.map(({ text }) => text),
        ['hello', 'hello'],
      );
      assert.is(agent.asked.length, 1);
    }),
  );

  check('a marked retry joins by its digest, an unmarked one of an answer that was read does not', () =>
    withTurns({}, async ({ ask }) => {
      const first = await ask({ digest: 'same' });
      const retry = await ask({ digest: 'same', isRetry: true });
      assert.is(retry.turn.id, first.turn.id);
      const fresh = await ask({ digest: 'same' });
      assert.is(fresh.outcome, 'begun');
    }),
  );

  check('an equal request joins an answer whose reader has left, and no second one does', () =>
    withTurns({ scripts: [hanging] }, async ({ begin, turns, by }) => {
      const first = begun(await begin({ digest: 'same' }));
      await untilThinking({ turns, by }, first.turn.id);
      await turns.leave(first.turn.id, { id: first.reader }, by);
      const second = begun(await begin({ digest: 'same' }));
      assert.is(second.turn.id, first.turn.id);
      const third = begun(await begin({ digest: 'same' }));
      assert.is.not(third.turn.id, first.turn.id);
      await untilThinking({ turns, by }, third.turn.id);
    }),
  );

  check('a request that only joins begins nothing', () =>
    withTurns({}, async ({ begin, agent }) => {
      assert.equal(await begin({ isJoinOnly: true }), { outcome: 'none' });
      assert.is(agent.asked.length, 0);
    }),
  );

  check('a turn that nobody reads is aborted after its time', () =>
    withTurns({ scripts: [hanging] }, async ({ begin, turns, by }) => {
      const { turn, reader } = begun(await begin({ abortAfterMs: 20 }));
      await untilThinking({ turns, by }, turn.id);
      await turns.leave(turn.id, { id: reader }, by);
      await untilSo(async () => (await turns.view(turn.id, by)).status === 'aborted');
    }),
  );

  check('a turn without such a time goes on to its end', () => {
    let release = (): void => {};
    const slow: Script = async function* (request, signal) {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      yield* replying('at last')(request, signal);
    };
    return withTurns({ scripts: [slow] }, async ({ begin, turns, by, agent }) => {
      const { turn, reader } = begun(await begin({ abortAfterMs: null }));
      await turns.leave(turn.id, { id: reader }, by);
      await untilSo(() => agent.asked.length === 1);
      release();
      await untilSo(async () => (await turns.view(turn.id, by)).status === 'completed');
      assert.is(textOf((await turns.read(turn.id, by)).entries), 'at last');
    });
  });

  check('a retry of a turn that was aborted begins again, unless tools had run', () =>
    withTurns(
      {
        scripts: [hanging, hanging, calling({ name: 'pay', input: {} }), hanging],
        tools: [toolNamed('pay')],
        ...ALLOWED,
      },
      async ({ begin, turns, by }) => {
        const request = { key: 'mine', isKeyOfClient: true, digest: 'same' };
        const first = begun(await begin(request));
        await untilThinking({ turns, by }, first.turn.id);
        await turns.cancel(first.turn.id, by);
        const again = begun(await begin(request));
        assert.is(again.outcome, 'begun');
        await untilThinking({ turns, by }, again.turn.id);
        await turns.cancel(again.turn.id, by);
        const paying = begun(await begin(request));
        await untilThinking({ turns, by }, paying.turn.id);
        await turns.cancel(paying.turn.id, by);
        assert.is(await refusalOf(begin(request)), 'turn_aborted');
      },
    ),
  );

  check('a client that leaves before its turn has begun leaves nothing', () =>
    withTurns({ scripts: [hanging] }, async ({ begin, by, hold, calls, agent }) => {
      const release = hold(({ path }) => path === '/session');
      const leaving = new AbortController();
      const request = begin({}, { ...by, signal: leaving.signal });
      await untilSo(() => calls.some(({ path }) => path === '/session'));
      leaving.abort(new Error('left'));
      await request.catch(() => {});
      release();
      const { turn } = begun(await begin({ input: [user('second')] }));
      assert.ok(turn.id);
      assert.is(agent.asked.length <= 1, true);
    }),
  );

  check('a key is free again after a day', () => {
    let offset = 0;
    const ahead = { ...systemClock, now: () => systemClock.now() + offset };
    return withTurns({ clock: ahead }, async ({ ask }) => {
      await ask({ key: 'mine', isKeyOfClient: true, digest: 'same' });
      offset = 86_400_000;
      assert.is((await ask({ key: 'mine', isKeyOfClient: true, digest: 'same' })).outcome, 'begun');
    });
  });

  check('a reader that comes later reads the same, while the turn goes on', () =>
    withTurns({ scripts: [replying('one ', 'two')] }, async ({ begin }) => {
      const request = { key: 'mine', isKeyOfClient: true, digest: 'same' };
      const [first, second] = [begun(await begin(request)), begun(await begin(request))];
      const [one, two] = await Promise.all([readUntilPause(first.events), readUntilPause(second.events)]);
      assert.is(textOf(one.entries), 'one two');
      assert.is(textOf(two.entries), 'one two');
    }),
  );
});
