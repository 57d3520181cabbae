import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createTurns, LEFT, NEVER, turn } from './world.ts';

type Step =
  | { readonly kind: 'take'; readonly subject: string }
  | { readonly kind: 'free'; readonly index: number }
  | { readonly kind: 'leave'; readonly index: number };
const pick = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), subject: fc.constantFrom('7', '8') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('free' as const), index: pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), index: pick }) },
);

describe('turns, no matter who takes, frees and leaves in whatever order,', (check) => {
  check('are held by one at a time, in order, and by no one in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const turns = createTurns();
        type Taker = {
          readonly subject: string;
          readonly caller: AbortController;
          free?: () => void;
          state: 'waiting' | 'holding' | 'freed' | 'left';
        };
        const takers: Taker[] = [];
        const of = (subject: string, state: Taker['state']) =>
          takers.filter((taker) => taker.subject === subject && taker.state === state);
        const settle = async () => {
          await turn();
          for (const subject of ['7', '8']) {
            const holders = of(subject, 'holding');
            assert.ok(holders.length <= 1);
            // Nobody waits for what is free.
            if (holders.length === 0) assert.is(of(subject, 'waiting').length, 0);
            const [holder] = holders;
            // Who waits came later than who holds.
            for (const waiter of of(subject, 'waiting'))
              assert.ok(holder !== undefined && takers.indexOf(waiter) > takers.indexOf(holder));
          }
        };
        for (const one of steps) {
          if (one.kind === 'take') {
            const taker: Taker = { subject: one.subject, caller: new AbortController(), state: 'waiting' };
            takers.push(taker);
            turns.acquire(one.subject, taker.caller.signal).then(
              (free) => Object.assign(taker, { free, state: 'holding' }),
              () => Object.assign(taker, { state: 'left' }),
            );
          } else {
            const taker = takers[one.index];
            if (one.kind === 'leave') taker?.caller.abort(LEFT);
            else {
              taker?.free?.();
              if (taker?.state === 'holding') taker.state = 'freed';
            }
          }
          await settle();
        }
        for (let holders = takers; holders.length > 0; ) {
          holders = takers.filter(({ state }) => state === 'holding');
          for (const holder of holders) {
            holder.free?.();
            holder.state = 'freed';
          }
          await settle();
        }
        for (const subject of ['7', '8']) (await turns.acquire(subject, NEVER))();
      }),
      { numRuns: 200 },
    );
  });
});
