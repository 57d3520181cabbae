import * as assert from 'uvu/assert';
import type { PermissionOutcome } from '../../../../src/agent/protocol/permissions.ts';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import { describe, rejection } from '../../../check.ts';
import { BY, turn, world } from './world.ts';

describe('approvals', (check) => {
  check('ask nothing for a run that is over, and withdraw what it asked', async () => {
    const { approvals, reported, ask, clock } = world();
    const controller = new AbortController();
    const open = ask('a', 'pay', controller.signal);
    await turn();
    const reason = new Error('over');
    controller.abort(reason);
    assert.is(await rejection(open), reason);
    assert.is(await rejection(ask('a', 'pay', controller.signal)), reason);
    assert.equal(await approvals.open(), []);
    assert.equal(
      reported.map((line) => line.split(' ')[1]),
      ['asked', 'reject'],
    );
    assert.is(clock.pending(), 0);
  });

  check('end a run only once everyone has been told that what it asked is over', async () => {
    const told = Promise.withResolvers<void>();
    const { ask } = world({
      publish: async ({ drafts = [] }) => {
        if (drafts.some(({ type }) => type === 'permission.replied')) await told.promise;
      },
    });
    const controller = new AbortController();
    let isOver = false;
    const end = rejection(ask('a', 'pay', controller.signal)).finally(() => {
      isOver = true;
    });
    await turn();
    controller.abort(new Error('over'));
    await turn();
    assert.not.ok(isOver);
    told.resolve();
    await end;
  });

  check('publish no request before it is open, and none that the store does not take', async () => {
    const taken = Promise.withResolvers<void>();
    const { ask, reported } = world({ open: () => taken.promise });
    const waiting = rejection(ask('a', 'pay'));
    await turn();
    assert.equal(reported, []);
    const refused = new StoreUnavailableError();
    taken.reject(refused);
    assert.is(await waiting, refused);
    assert.equal(
      reported.map((line) => line.split(' ')[1]),
      ['reject'],
    );
  });

  check('leave nothing open when the request cannot be published', async () => {
    const broken = new Error('the store is gone');
    const { approvals, ask, clock } = world({
      publish: async () => {
        throw broken;
      },
    });
    assert.is(await rejection(ask('a', 'pay')), broken);
    assert.equal(await approvals.open(), []);
    assert.is(clock.pending(), 0);
  });

  check('take an answer that comes before the request was published to everyone', async () => {
    const gate = Promise.withResolvers<void>();
    const { approvals, ask } = world({ publish: () => gate.promise });
    const outcome = ask('a', 'pay');
    await turn();
    assert.ok(await approvals.reply((await approvals.open())[0]?.id ?? '', { reply: 'once', ...BY }));
    gate.resolve();
    assert.equal(await outcome, { reply: 'once' });
  });

  check('keep a decision before the call may go on, and let a second person know only then', async () => {
    const gate = Promise.withResolvers<void>();
    const { approvals, ask } = world({ record: () => gate.promise });
    const settled: string[] = [];
    void ask('a', 'pay').then(({ reply }) => settled.push(`the call: ${reply}`));
    await turn();
    const id = (await approvals.open())[0]?.id ?? '';
    void approvals.reply(id, { reply: 'always', ...BY }).then((counts) => settled.push(`the first: ${counts}`));
    void approvals.reply(id, { reply: 'reject', ...BY }).then((counts) => settled.push(`the second: ${counts}`));
    await turn();
    assert.equal(settled, []);
    assert.equal(await approvals.standing.list(), []);
    gate.resolve();
    await turn();
    assert.equal(settled.sort(), ['the call: always', 'the first: true', 'the second: false']);
  });

  check('let no call run and allow nothing while the decision cannot be kept, and can be answered again', async () => {
    const broken = new Error('the store is gone');
    let isBroken = true;
    const { approvals, ask, kept } = world({
      record: async () => {
        if (isBroken) throw broken;
      },
    });
    let outcome: PermissionOutcome | undefined;
    void ask('a', 'pay').then((given) => {
      outcome = given;
    });
    await turn();
    const id = (await approvals.open())[0]?.id ?? '';
    assert.is(await rejection(approvals.reply(id, { reply: 'always', ...BY })), broken);
    await turn();
    assert.is(outcome, undefined);
    assert.equal(await approvals.standing.list(), []);
    isBroken = false;
    assert.ok(await approvals.reply(id, { reply: 'once', ...BY }));
    await turn();
    assert.equal(outcome, { reply: 'once' });
    assert.equal(
      kept.map(({ reply, by }) => [reply, by]),
      [['once', 'ana']],
    );
  });

  check(
    'take a reply that is kept, also while the store does not take those that it would decide as well',
    async () => {
      let kept = 0;
      const { approvals, ask } = world({
        record: async () => {
          kept += 1;
          if (kept > 1) throw new StoreUnavailableError();
        },
      });
      const first = ask('a', 'pay');
      const second = ask('a', 'pay');
      await turn();
      const [{ id } = { id: '' }, other] = await approvals.open();
      assert.is(await approvals.reply(id, { reply: 'always', ...BY }), true);
      assert.equal(await first, { reply: 'always' });
      // The other one still waits for somebody.
      assert.equal(
        (await approvals.open()).map((one) => one.id),
        [other?.id],
      );
      void second;
    },
  );

  check('say of what another reply decided by whom and with which', async () => {
    const { approvals, ask, kept, clock } = world();
    void ask('a', 'pay');
    void ask('a', 'pay');
    await turn();
    const [first, second] = (await approvals.open()).map(({ id }) => id);
    await approvals.reply(second ?? '', { reply: 'always', ...BY });
    const covers = [{ permission: 'pay', pattern: '*', action: 'allow' }];
    assert.equal(
      kept.map(({ id, by, through, covers, until }) => ({ id, by, through, covers, until })),
      [
        { id: second, by: 'ana', through: undefined, covers, until: clock.now() + 3_600_000 },
        { id: first, by: 'ana', through: second, covers: undefined, until: undefined },
      ],
    );
  });
});
