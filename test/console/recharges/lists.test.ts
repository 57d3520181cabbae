import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { createJournalRecharges } from '../../../src/console/recharges/journal-entries.ts';
import { RECHARGES_SHOWN } from '../../../src/console/recharges/recharge-lists.ts';
import { describe } from '../../check.ts';
import { processorTime } from '../../processor-time.ts';
import { claimOf, followJournal, hash, listsOf, NOW, withJournal } from './world.ts';

describe('the recharges of a journal', (check) => {
  check('are verified, refused or in doubt as relay admin itself takes them, the newest first', async () => {
    await withJournal(async (path, journal) => {
      await journal.tokenSecret();
      const ids: string[] = [];
      for (const [each, char] of [...'abcdef'].entries())
        ids.push((await journal.claim(claimOf(char, NOW - 1_000_000 + each))).claim.by);
      const [a = '', b = '', c = '', d = '', e = ''] = ids;
      const by = { at: NOW - 500_000 };
      await journal.settle({
        ...by,
        by: a,
        state: 'verified',
        isAccepted: true,
        result: { balance_after: '16', email: 'x' },
      });
      await journal.settle({ ...by, by: b, state: 'not_applied', isAccepted: false, status: 0 });
      await journal.settle({ ...by, by: c, state: 'not_applied', isAccepted: false, status: 409 });
      // A refusal that proves nothing, and an answer that never came.
      await journal.settle({
        ...by,
        by: d,
        state: 'accepted_unverified',
        isAccepted: false,
        doubt: 'refused',
        status: 400,
      });
      await journal.settle({ ...by, by: e, state: 'accepted_unverified', isAccepted: false, doubt: 'timed-out' });
      await journal.note({ at: NOW, tool: 'update_user_limits', subject: 7, change: { rpm: 5 }, state: 'sent' });
      const { inDoubt, refused, verified, leftOut } = await listsOf(path);
      const references = (rows: readonly { readonly reference: string }[]) =>
        rows.map(({ reference }) => reference[3]).join('');
      assert.equal([references(inDoubt), references(refused), references(verified), leftOut], ['fed', 'cb', 'a', 0]);
      assert.equal(verified[0], {
        ...{ reference: `rc_${'a'.repeat(16)}`, at: NOW - 1_000_000, user: 'user 7', amount: '12.5', before: '3.5' },
        ...{ after: '16', settled: NOW - 500_000 },
      });
      assert.equal(
        inDoubt.map(({ reason }) => reason),
        [
          'It was about to be sent, and no outcome was written: the process may have ended in between.',
          'The relay did not answer in time.',
          'The relay refused it, and what was read afterwards does not prove that nothing was credited.',
        ],
      );
      assert.match(inDoubt[0]?.check?.[0] ?? '', 'Search the balance history of user 7 for rc_ffff');
      // They are the ones that relay admin warns of.
      assert.equal(
        journal
          .unresolvedOf(7)
          .map(({ claim }) => claim.marker)
          .reverse(),
        inDoubt.map(({ reference }) => reference),
      );
    });
  });

  check('hold nothing of the journal but these members: no hash, no secret', async () => {
    await withJournal(async (path, journal) => {
      const secret = await journal.tokenSecret();
      const { claim } = await journal.claim(claimOf('a', NOW));
      await journal.settle({
        at: NOW,
        by: claim.by,
        state: 'verified',
        isAccepted: true,
        result: { advice: 'canary' },
      });
      const text = JSON.stringify(await listsOf(path));
      for (const hidden of [secret, hash('a'), claim.by, 'canary']) assert.not.ok(text.includes(hidden), hidden);
    });
  });

  check('count the first claim of a token, and the outcome that was proven', async () => {
    await withJournal(async (path, journal) => {
      const { claim } = await journal.claim(claimOf('a', NOW - 900_000));
      await journal.claim({ ...claimOf('a', NOW - 800_000), key: hash('b'), amount: '99' });
      await journal.settle({ at: 1, by: claim.by, state: 'accepted_unverified', isAccepted: true });
      const before = await listsOf(path);
      assert.match(before.inDoubt[0]?.reason ?? '', 'said that it credited it');
      await journal.settle({ at: 2, by: claim.by, state: 'verified', isAccepted: true });
      await journal.settle({ at: 3, by: claim.by, state: 'accepted_unverified', isAccepted: false });
      const { inDoubt, verified } = await listsOf(path);
      assert.equal([inDoubt.length, verified.map(({ amount }) => amount)], [0, ['12.5']]);
    });
  });

  check('in doubt are never pushed out by newer ones, in a journal of whatever length', async () => {
    await withJournal(async (path) => {
      const line = (each: number, kind: object) => `${JSON.stringify({ at: each, by: `b${each}`, ...kind })}\n`;
      const claim = (each: number, more: object = {}) =>
        line(each, {
          ...claimOf('a', each),
          ...{ kind: 'claim', token: `t${each}`, key: `k${each}`, marker: `rc_${each}` },
          ...more,
        });
      const verified = (each: number) => line(each, { kind: 'settlement', state: 'verified', isAccepted: true });
      const padding = 'ü'.repeat(4000);
      const lines = Array.from({ length: 3000 }, (_, each) =>
        each === 0 ? claim(0) : `${claim(each, { padding })}${verified(each)}`,
      );
      writeFileSync(path, lines.join(''));
      assert.ok(statSync(path).size > 20 * 1024 * 1024);
      const read = followJournal(path);
      const seen = async () => {
        const { inDoubt, verified: shown, leftOut } = await read();
        return [inDoubt.map(({ reference }) => reference), shown.length, leftOut];
      };
      assert.equal(await seen(), [['rc_0'], 1000, 2000]);
      // Its outcome may come late, and a copy of it counts as little as before.
      appendFileSync(path, `${claim(4000, { token: 't0' })}${claim(4001)}${verified(0)}`);
      assert.equal(await seen(), [['rc_4001'], 999, 2001]);
    });
  });

  check('are counted once by token and key, and cost no more the longer the journal is', () => {
    const recharges = createJournalRecharges(RECHARGES_SHOWN);
    let next = 0;
    const line = (by: number, token = by) =>
      JSON.stringify({ ...claimOf('a', NOW), kind: 'claim', by: `${by}`, token: `t${token}`, key: `k${by}` });
    /** The processor time of 5,000 claims. */
    const cost = (): number => {
      const lines = Array.from({ length: 5000 }, () => line(next++));
      const spentMs = processorTime();
      for (const one of lines) recharges.take(one);
      return spentMs();
    };
    const costs = Array.from({ length: 16 }, cost);
    const count = recharges.count();
    recharges.take(line(next, next - 20_000));
    assert.equal([count, recharges.count()], [80_000, 80_000]);
    const [first, last] = [Math.min(...costs.slice(0, 4)), Math.min(...costs.slice(-4))];
    assert.ok(last < 2 * first, `${last} us after ${first} us at first`);
  });
});
