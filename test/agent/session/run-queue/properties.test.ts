import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { AssistantMessage } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import { sessionOf } from '../../store/samples.ts';
import { turn, userOf, world } from './world.ts';

describe('runs', (check) => {
  check('keep their promises whatever happens in whatever order', async () => {
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('run' as const), at: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), at: fc.nat(3) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const), at: fc.constantFrom('a', 'b', 'c') }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const { runs, open, reported } = world();
        const asked: { readonly id: string; readonly answer: Promise<AssistantMessage> }[] = [];
        const order: string[] = [];
        for (const [index, { kind, at }] of actions.entries()) {
          if (kind === 'run') {
            const id = `${at}${index}`;
            const answer = runs.run(sessionOf(at), userOf(at, id));
            void answer.then(() => order.push(id));
            asked.push({ id, answer });
          } else if (kind === 'finish') open[at % Math.max(1, open.length)]?.finish();
          else {
            await runs.abort(at);
            assert.is((await runs.statuses())[at], undefined);
          }
          await turn();
          const busy = open.map(({ user }) => user.sessionID).sort();
          assert.equal(busy, [...new Set(busy)], 'one run for each session');
          assert.equal(Object.keys(await runs.statuses()).sort(), busy);
        }
        await runs.stop();
        for (const { id, answer } of asked) assert.is((await answer).parentID, id);
        await turn();
        for (const at of ['a', 'b', 'c']) {
          const mine = (ids: readonly string[]) => ids.filter((id) => id.startsWith(at));
          assert.equal(mine(order), mine(asked.map(({ id }) => id)), 'in the order in which they came');
          const last = reported.findLast((word) => word.startsWith(at));
          assert.ok(last === undefined || last === `${at} idle`);
        }
        assert.equal(await runs.statuses(), {});
      }),
      { numRuns: 150 },
    );
  });
});
