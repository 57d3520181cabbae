import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { nodeHexDigest } from '../../../src/adapter/node/crypto.ts';
import type { Publication } from '../../../src/agent/events/publisher.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type {
  PermissionDecision,
  PermissionOutcome,
  PermissionReply,
} from '../../../src/agent/protocol/permissions.ts';
import { createSingleServer } from '../../../src/agent/store/cluster.ts';

import { StoreUnavailableError } from '../../../src/agent/store/errors.ts';
import { createApprovals } from '../../../src/agent/tools/approvals.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const LIMIT_MS = 60_000;
const BY = { by: 'ana' };
type WorldGiven = {
  readonly publish?: (fact: Publication) => Promise<unknown>;
  readonly record?: (decision: PermissionDecision) => Promise<void>;
  /** What a request waits for before it is open. */
  readonly open?: () => Promise<void>;
};
const world = ({ publish, record, open }: WorldGiven = {}) => {
  const clock = createFakeClock();
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const reported: string[] = [];
  const kept: PermissionDecision[] = [];
  const recordDecision = async (decision: PermissionDecision): Promise<void> => {
    await record?.(decision);
    kept.push(decision);
  };
  const board = createSingleServer({ recordDecision }).permissionRequests;
  const approvals = createApprovals({
    board: {
      ...board,
      async add(request, onOutcome) {
        await open?.();
        await board.add(request, onOutcome);
      },
    },
    ids,
    clock,
    timeoutMs: LIMIT_MS,
    digest: nodeHexDigest,
    publish: async (_directory, fact) => {
      await publish?.(fact);
      for (const { type, properties } of fact.drafts ?? []) {
        if (type === 'permission.asked') reported.push(`${properties.id} asked`);
        if (type === 'permission.replied') reported.push(`${properties.requestID} ${properties.reply}`);
      }
    },
  });
  const ask = (sessionID: string, permission: string, signal = new AbortController().signal) =>
    approvals.request('/', { sessionID, permission, patterns: ['*'], always: ['*'], metadata: {} }, signal);
  return { clock, approvals, reported, kept, ask };
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
    assert.equal(await approvals.allowed(), []);
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
    assert.equal(await approvals.allowed(), []);
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
    const { approvals, ask, kept } = world();
    void ask('a', 'pay');
    void ask('b', 'pay');
    await turn();
    const [first, second] = (await approvals.open()).map(({ id }) => id);
    await approvals.reply(second ?? '', { reply: 'always', ...BY });
    assert.equal(
      kept.map(({ id, by, through, covers }) => ({ id, by, through, covers })),
      [
        { id: second, by: 'ana', through: undefined, covers: [{ permission: 'pay', pattern: '*', action: 'allow' }] },
        { id: first, by: 'ana', through: second, covers: undefined },
      ],
    );
  });

  check('keep their promises whatever happens in whatever order', async () => {
    const session = fc.constantFrom('a', 'b');
    const reply = fc.constantFrom<PermissionReply>(
      { reply: 'once' },
      { reply: 'always' },
      { reply: 'reject' },
      { reply: 'reject', message: 'no' },
    );
    const action = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('ask' as const),
          session,
          permission: fc.constantFrom('pay', 'look'),
        }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('reply' as const), at: fc.nat(5), reply }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const), session }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * LIMIT_MS }) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const { clock, approvals, reported, kept, ask } = world();
        type Open = {
          id: string;
          session: string;
          permission: string;
          askedAt: number;
          outcome: PermissionOutcome | 'aborted' | undefined;
        };
        const all: Open[] = [];
        const controllers = { a: new AbortController(), b: new AbortController() };
        const expect = (
          isMeant: (one: Open) => boolean,
          outcome: Open['outcome'],
          seen: Map<string, Open['outcome']>,
        ) => {
          for (const one of all) if (one.outcome === undefined && isMeant(one)) seen.set(one.id, outcome);
        };
        for (const given of actions) {
          const expected = new Map<string, Open['outcome']>();
          if (given.kind === 'ask') {
            const before = new Set((await approvals.open()).map(({ id }) => id));
            const one: Open = {
              id: '',
              session: given.session,
              permission: given.permission,
              askedAt: clock.now(),
              outcome: undefined,
            };
            void ask(given.session, given.permission, controllers[given.session as 'a' | 'b'].signal).then(
              (outcome) => (one.outcome = outcome),
              () => (one.outcome = 'aborted'),
            );
            await turn();
            one.id = (await approvals.open()).find(({ id }) => !before.has(id))?.id ?? '';
            all.push(one);
          } else if (given.kind === 'reply') {
            const open = all.filter(({ outcome }) => outcome === undefined);
            const one = open[given.at % Math.max(1, open.length)];
            if (one === undefined) assert.not.ok(await approvals.reply('per_x', { ...given.reply, ...BY }));
            else {
              const { reply: word } = given.reply;
              if (word === 'always') expect((other) => other.permission === one.permission, given.reply, expected);
              if (word === 'reject' && !('message' in given.reply))
                expect((other) => other.session === one.session, { reply: 'cancelled' }, expected);
              expected.set(one.id, given.reply);
              assert.ok(await approvals.reply(one.id, { ...given.reply, ...BY }));
              assert.not.ok(await approvals.reply(one.id, { ...given.reply, ...BY }), 'a second answer is none');
            }
          } else if (given.kind === 'abort') {
            expect((one) => one.session === given.session, 'aborted', expected);
            controllers[given.session as 'a' | 'b'].abort(new Error('over'));
            controllers[given.session as 'a' | 'b'] = new AbortController();
          } else {
            expect(({ askedAt }) => askedAt + LIMIT_MS <= clock.now() + given.ms, { reply: 'expired' }, expected);
            await clock.advance(given.ms);
          }
          const before = all.map(({ id, outcome }) => [id, outcome] as const);
          await turn();
          for (const [id, outcome] of before) {
            const one = all.find((other) => other.id === id);
            if (outcome === undefined) assert.equal(one?.outcome, expected.get(id));
          }
          const open = all.filter(({ outcome }) => outcome === undefined).map(({ id }) => id);
          assert.equal(
            (await approvals.open()).map(({ id }) => id),
            open,
          );
          assert.is(clock.pending(), open.length);
        }
        const ended = all.filter(({ outcome }) => outcome !== undefined);
        assert.is(kept.length, ended.length);
        for (const { id, outcome } of ended) {
          const word = outcome === 'aborted' ? 'cancelled' : outcome?.reply;
          const decision = kept.find((one) => one.id === id);
          assert.is(decision?.reply, word, 'what became of it is kept');
          assert.is(decision?.by, word === 'expired' || outcome === 'aborted' ? undefined : 'ana');
        }
        for (const { id, outcome } of all) {
          const lines = reported.filter((line) => line.startsWith(id)).map((line) => line.split(' ')[1]);
          assert.is(lines.length, outcome === undefined ? 1 : 2, 'told to be open once, and to be over once');
        }
      }),
      { numRuns: 200 },
    );
  });
});
