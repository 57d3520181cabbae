import fc from 'fast-check';
import * as assert from 'uvu/assert';
import {
  afterFailure,
  afterStart,
  chooseServer,
  coolDownMsFor,
  HEALTHY,
  isHealthy,
  isNewerThanFailure,
  type ServerHealth,
  type ServerRequest,
} from '../../../src/bridge/agent/load-balancer.ts';
import { describe } from '../../check.ts';

const NOW = 100_000;
const NONE: ReadonlySet<number> = new Set();
const present: fc.Arbitrary<ServerHealth> = fc.oneof(
  fc.constant(HEALTHY),
  fc.record({
    failures: fc.integer({ min: 1, max: 9 }),
    coolDownUntil: fc.integer({ min: 0, max: NOW }),
    failedAtRequest: fc.nat(99),
  }),
);
const leftOut: fc.Arbitrary<ServerHealth> = fc.record({
  failures: fc.integer({ min: 1, max: 9 }),
  coolDownUntil: fc.integer({ min: NOW + 1, max: 2 * NOW }),
  failedAtRequest: fc.nat(99),
});
const some = (one: fc.Arbitrary<ServerHealth>, minLength = 1) => fc.array(one, { minLength, maxLength: 7 });
const turnIn = (servers: readonly ServerHealth[]) => fc.nat(servers.length - 1);
const anyCase = some(fc.oneof(present, leftOut)).chain((servers) =>
  fc.record({
    servers: fc.constant(servers),
    next: turnIn(servers),
    tried: fc.subarray(servers.map((_, place) => place)).map((places) => new Set(places)),
  }),
);
const attempt = (changes: Partial<ServerRequest> = {}): ServerRequest => ({
  index: 0,
  number: 1,
  isLastResort: false,
  ...changes,
});

describe('the choice among agent servers', (check) => {
  check('falls on each of them once before it ends, those that are left out last', () => {
    fc.assert(
      fc.property(anyCase, ({ servers, next }) => {
        const tried = new Set<number>();
        const kinds: boolean[] = [];
        for (;;) {
          const choice = chooseServer({ servers, next, tried, now: NOW });
          if (choice === undefined) break;
          assert.not.ok(tried.has(choice.index), 'nobody is asked twice');
          tried.add(choice.index);
          kinds.push(choice.isLastResort);
          assert.is(choice.isLastResort, (servers[choice.index]?.coolDownUntil ?? 0) > NOW);
        }
        assert.is(tried.size, servers.length);
        assert.equal(kinds, [...kinds].sort(), 'first those that are there');
      }),
    );
  });

  check('never falls on one that is left out while another is there', () => {
    fc.assert(
      fc.property(anyCase, ({ servers, next, tried }) => {
        const choice = chooseServer({ servers, next, tried, now: NOW });
        const isThere = servers.some(({ coolDownUntil }, place) => coolDownUntil <= NOW && !tried.has(place));
        assert.is(choice?.isLastResort ?? false, !isThere && choice !== undefined);
        assert.is(choice === undefined, tried.size === servers.length);
      }),
    );
  });

  check('falls evenly on those that are there, however many are left out between them', () => {
    fc.assert(
      fc.property(some(fc.oneof(present, leftOut)), fc.integer({ min: 1, max: 60 }), (servers, requests) => {
        const those = servers.filter(({ coolDownUntil }) => coolDownUntil <= NOW).length;
        fc.pre(those > 0);
        const counts = new Map<number, number>();
        let next = 0;
        for (let request = 0; request < requests; request++) {
          const place = chooseServer({ servers, next, tried: NONE, now: NOW })?.index ?? -1;
          counts.set(place, (counts.get(place) ?? 0) + 1);
          next = (place + 1) % servers.length;
        }
        const most = Math.max(...counts.values());
        assert.ok(most <= Math.ceil(requests / those), `${most} of ${requests} went to one of ${those}`);
      }),
    );
  });

  check('falls, of those that are left out, on the one whose rest ends first', () => {
    fc.assert(
      fc.property(some(leftOut), (servers) => {
        const choice = chooseServer({ servers, next: 0, tried: NONE, now: NOW });
        const soonest = Math.min(...servers.map(({ coolDownUntil }) => coolDownUntil));
        assert.is(servers[choice?.index ?? -1]?.coolDownUntil, soonest);
      }),
    );
  });
});

describe('the health of an agent server', (check) => {
  check('costs it half a second at the first failure and ten at most', () => {
    assert.equal(
      [1, 2, 3, 4, 5, 6, 60].map((failures) => coolDownMsFor(failures)),
      [...[500, 1000, 2000, 4000], ...[8000, 10_000, 10_000]],
    );
    assert.equal([coolDownMsFor(1, 3000), coolDownMsFor(4, 3000), coolDownMsFor(1, 3_600_000)], [3000, 4000, 10_000]);
  });

  check('gets worse with each failure that is news, and never with one of a request that was under way', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ number: fc.nat(40), newest: fc.nat(40) })), (failures) => {
        let health = HEALTHY;
        for (const { number, newest } of failures) {
          const one = attempt({ number });
          if (!isNewerThanFailure(health, one)) continue;
          const next = afterFailure(health, one, { now: NOW, lastRequest: newest, retryAfterMs: 0 });
          assert.is(next.failures, health.failures + 1);
          assert.ok(next.coolDownUntil > NOW && next.coolDownUntil <= NOW + 10_000);
          for (let earlier = 0; earlier <= newest; earlier++)
            assert.not.ok(isNewerThanFailure(next, attempt({ number: earlier })));
          health = next;
        }
      }),
    );
  });

  check('is not worse for a last resort that fails', () => {
    const out: ServerHealth = { failures: 2, coolDownUntil: NOW + 400, failedAtRequest: 7 };
    const last = attempt({ number: 8, isLastResort: true });
    assert.is(afterFailure(out, last, { now: NOW, lastRequest: 8, retryAfterMs: 0 }), out);
    assert.is(afterFailure(HEALTHY, last, { now: NOW, lastRequest: 8, retryAfterMs: 0 }).failures, 1);
  });

  check('lets one request at a time try a server that may be back', () => {
    const back: ServerHealth = { failures: 3, coolDownUntil: NOW, failedAtRequest: 7 };
    const choice = { index: 0, isLastResort: false };
    assert.equal(afterStart(back, choice, NOW), { ...back, coolDownUntil: NOW + 2000 });
    assert.is(afterStart(back, { ...choice, isLastResort: true }, NOW), back);
    assert.is(afterStart(HEALTHY, choice, NOW), HEALTHY);
    assert.ok(isHealthy(HEALTHY) && !isHealthy(back));
  });
});
