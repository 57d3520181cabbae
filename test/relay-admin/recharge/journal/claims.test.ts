import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createJournal } from '../../../../src/relay-admin/recharge/journal.ts';
import { describe } from '../../../check.ts';
import { createIds, createMemoryFile } from '../../harness/world.ts';
import { type Draft, draft, processes } from './world.ts';

describe('the seal of a journal', (check) => {
  check('is made at first use, and is the same ever after', async () => {
    const { file, first } = processes(1);
    assert.is(file.lines.length, 0);
    const seal = await first.tokenSecret();
    assert.ok(seal.length >= 64);
    assert.is(await first.tokenSecret(), seal);
    assert.is(file.lines.length, 1);
  });

  check('is the same for every process, also for those that make one at once', async () => {
    const { journals, another } = processes(5);
    const seals = await Promise.all(journals.map((journal) => journal.tokenSecret()));
    assert.is(new Set(seals).size, 1);
    assert.is(await another().tokenSecret(), seals[0]);
  });

  check('is the first one in the file, whatever comes behind it', async () => {
    const { file, first, another } = processes(1);
    const seal = await first.tokenSecret();
    file.lines.push(JSON.stringify({ kind: 'seal', secret: 'x'.repeat(72) }));
    assert.is(await first.tokenSecret(), seal);
    assert.is(await another().tokenSecret(), seal);
  });

  check('of another file is another', async () => {
    const newId = createIds();
    const [one, other] = [createMemoryFile(), createMemoryFile()].map((file) => createJournal(file.open(), newId));
    assert.is.not(await one?.tokenSecret(), await other?.tokenSecret());
  });

  check('that a crash cut short is no seal', async () => {
    const { file, first } = processes(1);
    file.lines.push('{"kind":"seal","secret":"short"}', '{"kind":"seal","secret":"0123456789012345678901234567890123');
    assert.ok((await first.tokenSecret()).length >= 64);
    assert.is(file.lines.length, 3);
  });
});

describe('a claim', (check) => {
  check('is on record with its token and its key from then on, here and everywhere', async () => {
    const { first, second } = processes(2);
    const { claim, isOwn } = await first.claim(draft(1, 1));
    assert.ok(isOwn);
    const { by, kind, ...reported } = claim;
    assert.equal(reported, draft(1, 1));
    assert.equal(first.findByToken(draft(1, 1).token), { claim, settlement: undefined });
    assert.equal(first.findByKey(draft(1, 1).key), { claim, settlement: undefined });
    assert.is(second.findByToken(draft(1, 1).token), undefined);
    await second.refresh();
    assert.equal(second.findByToken(draft(1, 1).token), { claim, settlement: undefined });
  });

  check('is in the file before it counts', async () => {
    const { file, first } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    assert.equal(JSON.parse(file.lines[0] ?? ''), claim);
  });

  const CLASHES: readonly (readonly [string, Draft])[] = [
    ['the same pair', draft(1, 1)],
    ['the token with another key', draft(1, 2)],
    ['the key with another token', draft(2, 1)],
  ];
  for (const [what, later] of CLASHES) {
    check(`is lost to an earlier one of ${what}, in this process and in another`, async () => {
      for (const count of [1, 2]) {
        const { first, second } = processes(count);
        const { claim } = await first.claim(draft(1, 1));
        assert.equal(await second.claim(later), { claim, isOwn: false });
        // The loser binds nothing.
        if (later.token !== claim.token) assert.is(second.findByToken(later.token), undefined);
        if (later.key !== claim.key) assert.is(second.findByKey(later.key), undefined);
      }
    });
  }

  check('that was lost frees the other half of its pair for a later one', async () => {
    const { first, second, another } = processes(2);
    await first.claim(draft(1, 1));
    assert.not((await second.claim(draft(2, 1))).isOwn);
    const late = await first.claim(draft(2, 2));
    assert.ok(late.isOwn);
    const fresh = another();
    await fresh.refresh();
    assert.equal(fresh.findByToken(draft(2, 2).token)?.claim, late.claim);
  });

  check('of whatever pairs in whatever order has one owner, and every process says the same one', async () => {
    const attempt = fc.record({ process: fc.nat(2), token: fc.nat(3), key: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 20 }), async (attempts) => {
        const { journals, another } = processes(3);
        const claimed = await Promise.all(
          attempts.map(({ process, token, key }) => journals[process]?.claim(draft(token, key))),
        );
        const owned = claimed.flatMap((one) => (one?.isOwn ? [one.claim] : []));
        assert.is(new Set(owned.map(({ token }) => token)).size, owned.length);
        assert.is(new Set(owned.map(({ key }) => key)).size, owned.length);
        for (const journal of [...journals, another()]) {
          await journal.refresh();
          for (const claim of owned) {
            assert.equal(journal.findByToken(claim.token)?.claim, claim);
            assert.equal(journal.findByKey(claim.key)?.claim, claim);
          }
          assert.is(journal.unresolvedOf(7).length, owned.length);
        }
      }),
      { numRuns: 200 },
    );
  });
});
