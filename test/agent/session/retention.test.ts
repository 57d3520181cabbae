import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { expiredFamilies, groupFamilies, type SessionFamily } from '../../../src/agent/session/retention.ts';
import type { SessionOutline } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';

const NOW = 1000;
const IDS = ['ses_a', 'ses_b', 'ses_c', 'ses_d', 'ses_e', 'ses_f'];

/** Sessions of which some have parents that are there, some have others, and some stand in circles. */
const anyOutlines: fc.Arbitrary<readonly SessionOutline[]> = fc.uniqueArray(
  fc.record(
    { id: fc.constantFrom(...IDS), parentID: fc.constantFrom(...IDS, 'ses_x'), updatedMs: fc.nat(NOW + 100) },
    { requiredKeys: ['id', 'updatedMs'] },
  ),
  { selector: ({ id }) => id },
);
const anyLimits = fc.record({
  ageMs: fc.option(fc.nat(NOW), { nil: undefined }),
  count: fc.option(fc.nat(7), { nil: undefined }),
});
const rootsOf = (families: readonly SessionFamily[]): readonly string[] => families.map(({ rootID }) => rootID);
const session = (id: string, updatedMs: number, parentID?: string): SessionOutline => ({
  id,
  updatedMs,
  ...(parentID === undefined ? {} : { parentID }),
});

describe('families of sessions', (check) => {
  check('are a root with all below it, and are as young as the youngest of them', () => {
    const outlines = [
      session('c', 9, 'b'),
      session('b', 2, 'a'),
      session('a', 1),
      session('x', 5),
      session('y', 3, 'gone'),
    ];
    const families = groupFamilies(outlines).map(({ rootID, members, updatedMs }) => [
      rootID,
      members.map(({ id }) => id),
      updatedMs,
    ]);
    assert.equal(families, [
      ['a', ['a', 'b', 'c'], 9],
      ['x', ['x'], 5],
      ['y', ['y'], 3],
    ]);
  });

  check('hold each session once at most, parents before children, and none that stands in a circle', () => {
    fc.assert(
      fc.property(anyOutlines, (outlines) => {
        const families = groupFamilies(outlines);
        const all = families.flatMap(({ members }) => members);
        assert.is(new Set(all).size, all.length);
        for (const { rootID, members, updatedMs } of families) {
          assert.is(members[0]?.id, rootID);
          assert.is(updatedMs, Math.max(...members.map((member) => member.updatedMs)));
          for (const [place, { parentID }] of members.entries())
            assert.ok(place === 0 || members.slice(0, place).some(({ id }) => id === parentID));
        }
        const isEndless = ({ id }: SessionOutline): boolean => {
          let at = outlines.find((one) => one.id === id);
          for (let steps = 0; steps <= outlines.length; steps++) {
            const parentID = at?.parentID;
            at = outlines.find((one) => one.id === parentID);
            if (at === undefined) return false;
          }
          return true;
        };
        assert.equal(new Set(all), new Set(outlines.filter((outline) => !isEndless(outline))));
      }),
    );
  });
});

describe('the families that have to go', (check) => {
  check('are those that were not touched for too long, the longest untouched first', () => {
    const outlines = [session('a', 10), session('b', 500), session('c', 20, 'b'), session('d', 499), session('e', 5)];
    assert.equal(rootsOf(expiredFamilies(outlines, NOW, { ageMs: 500 })), ['e', 'a', 'd']);
  });

  check('are those beyond the newest so many roots', () => {
    const outlines = [session('a', 10), session('b', 30), session('c', 20), session('d', 40, 'a')];
    assert.equal(rootsOf(expiredFamilies(outlines, NOW, { count: 2 })), ['c']);
    assert.equal(rootsOf(expiredFamilies(outlines, NOW, { count: 0 })), ['c', 'b', 'a']);
  });

  check('are none without limits', () => {
    fc.assert(fc.property(anyOutlines, (outlines) => assert.equal(expiredFamilies(outlines, NOW, {}), [])));
  });

  check('are what either limit says, whole, and in whatever order the sessions came', () => {
    fc.assert(
      fc.property(anyOutlines, anyLimits, fc.nat(), (outlines, limits, turn) => {
        const gone = expiredFamilies(outlines, NOW, limits);
        const all = groupFamilies(outlines);
        for (const family of all) {
          const newer = all.filter(
            ({ updatedMs, rootID }) =>
              updatedMs > family.updatedMs || (updatedMs === family.updatedMs && rootID < family.rootID),
          );
          const isOld = limits.ageMs !== undefined && family.updatedMs + limits.ageMs < NOW;
          const isOver = limits.count !== undefined && newer.length >= limits.count;
          assert.is(rootsOf(gone).includes(family.rootID), isOld || isOver);
        }
        const times = gone.map(({ updatedMs }) => updatedMs);
        assert.equal(
          times,
          [...times].sort((left, right) => left - right),
        );
        const place = outlines.length === 0 ? 0 : turn % outlines.length;
        const turned = [...outlines.slice(place), ...outlines.slice(0, place)];
        assert.equal(rootsOf(expiredFamilies(turned, NOW, limits)), rootsOf(gone));
      }),
    );
  });

  check('never grow when time does not go on, and are none once they are gone', () => {
    fc.assert(
      fc.property(anyOutlines, anyLimits, (outlines, limits) => {
        const gone = new Set(expiredFamilies(outlines, NOW, limits).flatMap(({ members }) => members));
        const left = outlines.filter((outline) => !gone.has(outline));
        assert.equal(expiredFamilies(left, NOW, limits), []);
      }),
    );
  });
});
