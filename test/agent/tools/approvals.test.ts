import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Publication } from '../../../src/agent/events/publisher.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { PermissionReply } from '../../../src/agent/protocol/types.ts';
import { createSingleServer, type PermissionOutcome } from '../../../src/agent/store/cluster.ts';

import { createApprovals } from '../../../src/agent/tools/approvals.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const LIMIT_MS = 60_000;
const world = (publish?: (fact: Publication) => Promise<unknown>) => {
  const clock = createFakeClock();
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const reported: string[] = [];
  const approvals = createApprovals({
    board: createSingleServer().permissionRequests,
    ids,
    clock,
    timeoutMs: LIMIT_MS,
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
  return { clock, approvals, reported, ask };
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

  check('leave nothing open when the request cannot be published', async () => {
    const broken = new Error('the store is gone');
    const { approvals, ask, clock } = world(async () => {
      throw broken;
    });
    assert.is(await rejection(ask('a', 'pay')), broken);
    assert.equal(await approvals.open(), []);
    assert.is(clock.pending(), 0);
  });

  check('take an answer that comes before the request was published to everyone', async () => {
    const gate = Promise.withResolvers<void>();
    const { approvals, ask } = world(() => gate.promise);
    const outcome = ask('a', 'pay');
    await turn();
    assert.ok(await approvals.reply((await approvals.open())[0]?.id ?? '', { reply: 'once' }));
    gate.resolve();
    assert.equal(await outcome, { reply: 'once' });
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
        const { clock, approvals, reported, ask } = world();
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
            if (one === undefined) assert.not.ok(await approvals.reply('per_x', given.reply));
            else {
              const { reply: word } = given.reply;
              if (word === 'always') expect((other) => other.permission === one.permission, given.reply, expected);
              if (word === 'reject' && !('message' in given.reply))
                expect((other) => other.session === one.session, { reply: 'cancelled' }, expected);
              expected.set(one.id, given.reply);
              assert.ok(await approvals.reply(one.id, given.reply));
              assert.not.ok(await approvals.reply(one.id, given.reply), 'a second answer is none');
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
        for (const { id, outcome } of all) {
          const lines = reported.filter((line) => line.startsWith(id)).map((line) => line.split(' ')[1]);
          assert.is(lines.length, outcome === undefined ? 1 : 2, 'told to be open once, and to be over once');
        }
      }),
      { numRuns: 200 },
    );
  });
});
