import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { PermissionOutcome, PermissionReply } from '../../../../src/agent/protocol/permissions.ts';
import { describe } from '../../../check.ts';
import { BY, LIMIT_MS, turn, world } from './world.ts';

describe('approvals', (check) => {
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
              if (word === 'always') {
                const isCovered = (other: Open) => other.permission === one.permission && other.session === one.session;
                expect(isCovered, given.reply, expected);
              }
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
