import fc from 'fast-check';
import * as assert from 'uvu/assert';
import {
  type Attempt,
  asBegun,
  asFailed,
  choose,
  isNews,
  isWell,
  restMsAfter,
  type Standing,
  WELL,
} from '../../../src/bridge/agent/load-balancer.ts';
import { describe } from '../../check.ts';

const NOW = 100_000;
const NONE: ReadonlySet<number> = new Set();
const present: fc.Arbitrary<Standing> = fc.oneof(
  fc.constant(WELL),
  fc.record({
    failures: fc.integer({ min: 1, max: 9 }),
    outUntil: fc.integer({ min: 0, max: NOW }),
    failedAfter: fc.nat(99),
  }),
);
const leftOut: fc.Arbitrary<Standing> = fc.record({
  failures: fc.integer({ min: 1, max: 9 }),
  outUntil: fc.integer({ min: NOW + 1, max: 2 * NOW }),
  failedAfter: fc.nat(99),
});
const some = (one: fc.Arbitrary<Standing>, minLength = 1) => fc.array(one, { minLength, maxLength: 7 });
const turnIn = (standings: readonly Standing[]) => fc.nat(standings.length - 1);
const anyCase = some(fc.oneof(present, leftOut)).chain((standings) =>
  fc.record({
    standings: fc.constant(standings),
    from: turnIn(standings),
    tried: fc.subarray(standings.map((_, place) => place)).map((places) => new Set(places)),
  }),
);
const attempt = (changes: Partial<Attempt> = {}): Attempt => ({ place: 0, number: 1, isLastResort: false, ...changes });

describe('the choice among agent servers', (check) => {
  check('falls on each of them once before it ends, those that are left out last', () => {
    fc.assert(
      fc.property(anyCase, ({ standings, from }) => {
        const tried = new Set<number>();
        const kinds: boolean[] = [];
        for (;;) {
          const choice = choose({ standings, from, tried, now: NOW });
          if (choice === undefined) break;
          assert.not.ok(tried.has(choice.place), 'nobody is asked twice');
          tried.add(choice.place);
          kinds.push(choice.isLastResort);
          assert.is(choice.isLastResort, (standings[choice.place]?.outUntil ?? 0) > NOW);
        }
        assert.is(tried.size, standings.length);
        assert.equal(kinds, [...kinds].sort(), 'first those that are there');
      }),
    );
  });

  check('never falls on one that is left out while another is there', () => {
    fc.assert(
      fc.property(anyCase, ({ standings, from, tried }) => {
        const choice = choose({ standings, from, tried, now: NOW });
        const isThere = standings.some(({ outUntil }, place) => outUntil <= NOW && !tried.has(place));
        assert.is(choice?.isLastResort ?? false, !isThere && choice !== undefined);
        assert.is(choice === undefined, tried.size === standings.length);
      }),
    );
  });

  check('falls evenly on those that are there, however many are left out between them', () => {
    fc.assert(
      fc.property(some(fc.oneof(present, leftOut)), fc.integer({ min: 1, max: 60 }), (standings, requests) => {
        const those = standings.filter(({ outUntil }) => outUntil <= NOW).length;
        fc.pre(those > 0);
        const counts = new Map<number, number>();
        let from = 0;
        for (let request = 0; request < requests; request++) {
          const place = choose({ standings, from, tried: NONE, now: NOW })?.place ?? -1;
          counts.set(place, (counts.get(place) ?? 0) + 1);
          from = (place + 1) % standings.length;
        }
        const most = Math.max(...counts.values());
        assert.ok(most <= Math.ceil(requests / those), `${most} of ${requests} went to one of ${those}`);
      }),
    );
  });

  check('falls, of those that are left out, on the one whose rest ends first', () => {
    fc.assert(
      fc.property(some(leftOut), (standings) => {
        const choice = choose({ standings, from: 0, tried: NONE, now: NOW });
        const soonest = Math.min(...standings.map(({ outUntil }) => outUntil));
        assert.is(standings[choice?.place ?? -1]?.outUntil, soonest);
      }),
    );
  });
});

describe('the standing of an agent server', (check) => {
  check('costs it half a second at the first failure and ten at most', () => {
    assert.equal(
      [1, 2, 3, 4, 5, 6, 60].map((failures) => restMsAfter(failures)),
      [...[500, 1000, 2000, 4000], ...[8000, 10_000, 10_000]],
    );
    assert.equal([restMsAfter(1, 3000), restMsAfter(4, 3000), restMsAfter(1, 3_600_000)], [3000, 4000, 10_000]);
  });

  check('gets worse with each failure that is news, and never with one of a request that was under way', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ number: fc.nat(40), newest: fc.nat(40) })), (failures) => {
        let standing = WELL;
        for (const { number, newest } of failures) {
          const one = attempt({ number });
          if (!isNews(standing, one)) continue;
          const next = asFailed(standing, one, { now: NOW, newest, askedMs: 0 });
          assert.is(next.failures, standing.failures + 1);
          assert.ok(next.outUntil > NOW && next.outUntil <= NOW + 10_000);
          for (let earlier = 0; earlier <= newest; earlier++) assert.not.ok(isNews(next, attempt({ number: earlier })));
          standing = next;
        }
      }),
    );
  });

  check('is not worse for a last resort that fails', () => {
    const out: Standing = { failures: 2, outUntil: NOW + 400, failedAfter: 7 };
    const last = attempt({ number: 8, isLastResort: true });
    assert.is(asFailed(out, last, { now: NOW, newest: 8, askedMs: 0 }), out);
    assert.is(asFailed(WELL, last, { now: NOW, newest: 8, askedMs: 0 }).failures, 1);
  });

  check('lets one request at a time try a server that may be back', () => {
    const back: Standing = { failures: 3, outUntil: NOW, failedAfter: 7 };
    const choice = { place: 0, isLastResort: false };
    assert.equal(asBegun(back, choice, NOW), { ...back, outUntil: NOW + 2000 });
    assert.is(asBegun(back, { ...choice, isLastResort: true }, NOW), back);
    assert.is(asBegun(WELL, choice, NOW), WELL);
    assert.ok(isWell(WELL) && !isWell(back));
  });
});
