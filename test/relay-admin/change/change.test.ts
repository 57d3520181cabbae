import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { withCallDeadline } from '../../../src/relay-admin/call-deadline.ts';
import { applyChange, type ChangePlan } from '../../../src/relay-admin/change/change.ts';
import type { SentChange } from '../../../src/relay-admin/change/outcome.ts';
import { describe } from '../../check.ts';
import { createWorld, LIMIT_MS, problemOf, unknown } from './world.ts';

type State = { readonly rpm_limit: number };
const Output = v.strictObject({ outcome: v.string(), seen: v.nullable(v.number()) });

describe('a result that cannot be reported', (check) => {
  const changeWith = (resultOf: (changed: SentChange<State>) => v.InferOutput<typeof Output>) => {
    const change: ChangePlan<State, v.InferOutput<typeof Output>> = {
      tool: 'some_change',
      what: 'user',
      subject: 7,
      write: { method: 'PUT', path: 'users/7' },
      requested: { rpm_limit: 60 },
      read: async () => ({ rpm_limit: 60 }),
      hasRequested: ({ rpm_limit }) => rpm_limit === 60,
      toResult: resultOf,
      output: Output,
    };
    return change;
  };
  const made = (
    world: ReturnType<typeof createWorld>,
    change: ChangePlan<State, v.InferOutput<typeof Output>>,
  ): Promise<v.InferOutput<typeof Output>> =>
    withCallDeadline(world.clock, { limitMs: LIMIT_MS, signal: new AbortController().signal }, (call) =>
      applyChange(change, world.needs, call),
    );
  const misshapen = ({ outcome, after }: SentChange<State>) =>
    after === null ? { outcome, seen: null } : { outcome, seen: Number.NaN };
  const throwing = ({ outcome, after }: SentChange<State>) => {
    if (after !== null) throw new Error('No words for it');
    return { outcome, seen: null };
  };

  check('is noticed before anything is sent', async () => {
    const world = createWorld();
    const change = changeWith(() => ({ outcome: 'verified', seen: Number.NaN }));
    assert.equal(await problemOf(made(world, change)), { kind: 'bug', outcome: 'not_applied' });
    assert.equal(world.happened, []);
  });

  for (const resultOf of [misshapen, throwing]) {
    check(`afterwards gives way to the least that is known: ${resultOf.name}`, async () => {
      const world = createWorld();
      assert.equal(await made(world, changeWith(resultOf)), { outcome: 'accepted_unverified', seen: null });
      assert.is(world.notes.at(-1)?.state, 'accepted_unverified');
    });

    check(`of a change without an answer is reported as unknown: ${resultOf.name}`, async () => {
      const world = createWorld({ answer: unknown('timed-out') });
      const detail = await problemOf(made(world, changeWith(resultOf)));
      assert.equal(detail, { kind: 'change-unknown' });
      assert.is(world.notes.at(-1)?.state, 'unknown');
    });
  }
});
