import * as assert from 'uvu/assert';
import { UNKNOWN_REASONS } from '../../../../src/relay-admin/relay/response.ts';
import { describe } from '../../../check.ts';
import { AT, draft, processes, type Settled, settlement } from './world.ts';

describe('a settlement', (check) => {
  type Part = Partial<Settled>;
  const DOUBT: Part = { state: 'accepted_unverified', isAccepted: false, doubt: 'no-answer' };
  const ACCEPTED: Part = { state: 'accepted_unverified', isAccepted: true };
  const VERIFIED: Part = { state: 'verified', isAccepted: true, result: { outcome: 'verified' } };
  const REFUSED: Part = { state: 'not_applied', isAccepted: false, status: 429 };
  const UNSENT: Part = { state: 'not_applied', isAccepted: false, status: 0 };

  const after = async (...parts: readonly Part[]) => {
    const { first, another } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    for (const part of parts) await first.settle(settlement(claim.by, part));
    const late = another();
    await late.refresh();
    assert.equal(late.findByToken(claim.token), first.findByToken(claim.token));
    return { known: first.findByToken(claim.token)?.settlement, isOpen: first.unresolvedOf(7).length === 1 };
  };

  /** What was settled, in order; which of it counts, and whether that leaves the recharge unresolved. */
  const ORDERS: readonly (readonly [string, readonly Part[], Part | undefined, boolean])[] = [
    ['nothing', [], undefined, true],
    ['a doubt', [DOUBT], DOUBT, true],
    ['an acceptance', [ACCEPTED], ACCEPTED, true],
    ['a proof', [VERIFIED], VERIFIED, false],
    ['a refusal', [REFUSED], REFUSED, false],
    ['a doubt, then a proof', [DOUBT, VERIFIED], VERIFIED, false],
    ['a doubt, then a refusal', [DOUBT, REFUSED], REFUSED, false],
    ['a doubt, then an acceptance', [DOUBT, ACCEPTED], ACCEPTED, true],
    ['an acceptance, then a proof', [ACCEPTED, VERIFIED], VERIFIED, false],
    ['a proof, then a doubt', [VERIFIED, DOUBT], VERIFIED, false],
    ['a proof, then an acceptance', [VERIFIED, ACCEPTED], VERIFIED, false],
    ['a proof, then a refusal', [VERIFIED, REFUSED], VERIFIED, false],
    ['a refusal, then a doubt', [REFUSED, DOUBT], REFUSED, false],
    ['a refusal, then a proof', [REFUSED, VERIFIED], REFUSED, false],
    ['a connection that was never made', [UNSENT], UNSENT, false],
  ];
  for (const [what, parts, expected, isOpen] of ORDERS) {
    check(`of ${what} is known for what weighs most, everywhere`, async () => {
      const { known, isOpen: open } = await after(...parts);
      if (expected === undefined) assert.is(known, undefined);
      else for (const [name, value] of Object.entries(expected)) assert.equal(known?.[name as keyof Settled], value);
      assert.is(open, isOpen);
    });
  }

  check('of a doubt after an acceptance takes nothing back', async () => {
    const { known, isOpen } = await after(ACCEPTED, DOUBT);
    assert.equal([known?.isAccepted, known?.doubt, isOpen], [true, 'no-answer', true]);
    assert.is((await after(ACCEPTED, DOUBT, DOUBT)).known?.isAccepted, true);
  });

  check('of another doubt is known for the later', async () => {
    const { known } = await after(DOUBT, { ...DOUBT, doubt: 'in-progress', at: AT + 1 });
    assert.equal([known?.doubt, known?.at], ['in-progress', AT + 1]);
  });

  check('is kept with every doubt there is', async () => {
    for (const doubt of UNKNOWN_REASONS) assert.is((await after({ doubt })).known?.doubt, doubt);
  });

  check('of a claim that lost says nothing about the one that counts', async () => {
    const { file, first, second } = processes(2);
    await first.claim(draft(1, 1));
    await second.claim(draft(1, 1));
    const loser = JSON.parse(file.lines[1] ?? '').by;
    await second.settle(settlement(loser, VERIFIED));
    assert.is(second.findByToken(draft(1, 1).token)!.settlement, undefined);
    assert.is(second.unresolvedOf(7).length, 1);
  });

  check('that came into the file before its claim counts all the same', async () => {
    const { file, first, another } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    await first.settle(settlement(claim.by, VERIFIED));
    file.lines.reverse();
    const late = another();
    await late.refresh();
    assert.is(late.findByToken(claim.token)?.settlement?.state, 'verified');
  });
});

describe('the recharges of a user that no one knows the outcome of', (check) => {
  check('are those of that user, the oldest first', async () => {
    const { first, second } = processes(2);
    const claims = [];
    for (const [index, userId] of [7, 8, 7, 7].entries())
      claims.push((await (index % 2 ? second : first).claim(draft(index, index, { userId }))).claim);
    await second.refresh();
    await first.refresh();
    await first.settle(settlement(claims[2]?.by ?? '', { state: 'not_applied', status: 0 }));
    await second.refresh();
    for (const journal of [first, second]) {
      assert.equal(
        journal.unresolvedOf(7).map(({ claim }) => claim),
        [claims[0], claims[3]],
      );
      assert.equal(
        journal.unresolvedOf(8).map(({ claim }) => claim),
        [claims[1]],
      );
      assert.equal(journal.unresolvedOf(9), []);
    }
  });
});
