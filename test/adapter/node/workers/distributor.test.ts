import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createDistributor } from '../../../../src/adapter/node/workers/distributor.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

type Connection = { readonly name: number; destroyed: boolean; readonly destroy: () => void };
const connection = (name: number): Connection => {
  const made = { name, destroyed: false, destroy: () => void Object.assign(made, { destroyed: true }) };
  return made;
};

/** A worker that notes what it is given. */
const worker = () => {
  const given: Connection[] = [];
  const failures: (() => void)[] = [];
  return {
    given,
    failures,
    names: () => given.map(({ name }) => name),
    give(one: Connection, onFailed: () => void) {
      given.push(one);
      failures.push(onFailed);
    },
  };
};

describe('a distributor of connections', (check) => {
  check('gives them to workers in turn, each one at a time', () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    const workers = [worker(), worker()];
    const registrations = workers.map(({ give }) => distributor.join(give));
    const connections = [1, 2, 3, 4].map(connection);
    for (const one of connections) distributor.offer(one);
    assert.equal(
      workers.map(({ names }) => names()),
      [[1], [2]],
    );
    registrations[1]?.accepted();
    assert.equal(
      workers.map(({ names }) => names()),
      [[1], [2, 3]],
    );
    registrations[0]?.accepted();
    assert.equal(
      workers.map(({ names }) => names()),
      [
        [1, 4],
        [2, 3],
      ],
    );
    // This process keeps its copy until the worker has its own.
    assert.equal(
      connections.map(({ destroyed }) => destroyed),
      [true, true, false, false],
    );
  });

  check(
    'gives none more to a quick worker than to one that is about to accept, and passes one over that is not',
    async () => {
      const clock = createFakeClock();
      const distributor = createDistributor<Connection>(clock);
      const workers = [worker(), worker()];
      const registrations = workers.map(({ give }) => distributor.join(give));
      for (const name of [1, 2, 3, 4, 5]) distributor.offer(connection(name));
      registrations[1]?.accepted();
      registrations[1]?.accepted();
      assert.equal(
        workers.map(({ names }) => names()),
        [[1], [2, 3]],
      );
      await clock.advance(50);
      assert.equal(
        workers.map(({ names }) => names()),
        [[1], [2, 3, 4]],
      );
    },
  );

  check('gives the next ones to a worker that has fewer, such as a new one', () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    const [old, young] = [worker(), worker()];
    const registration = distributor.join(old.give);
    for (const name of [1, 2, 3]) {
      distributor.offer(connection(name));
      registration.accepted();
    }
    const next = distributor.join(young.give);
    distributor.offer(connection(4));
    next.accepted();
    distributor.offer(connection(5));
    next.accepted();
    registration.closed(2);
    distributor.offer(connection(6));
    assert.equal(
      [old.names(), young.names()],
      [
        [1, 2, 3, 6],
        [4, 5],
      ],
    );
  });

  check('gives what a worker did not accept before it ended to another', () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    const [first, second] = [worker(), worker()];
    const registration = distributor.join(first.give);
    const one = connection(1);
    distributor.offer(one);
    registration.leave();
    distributor.join(second.give);
    assert.equal(second.names(), [1]);
    assert.not(one.destroyed);
  });

  check('gives no connection to two workers, when both the sending and the worker failed', () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    const [first, second] = [worker(), worker()];
    const registration = distributor.join(first.give);
    distributor.offer(connection(1));
    registration.leave();
    first.failures[0]?.();
    const next = distributor.join(second.give);
    next.accepted();
    assert.equal([first.names(), second.names()], [[1], [1]]);
  });

  check('keeps connections while no worker is there, up to a limit', () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    const connections = Array.from({ length: 1001 }, (_, name) => connection(name));
    for (const one of connections) distributor.offer(one);
    assert.equal(
      connections.filter(({ destroyed }) => destroyed).map(({ name }) => name),
      [1000],
    );
    const late = worker();
    distributor.join(late.give);
    assert.equal(late.names(), [0]);
  });

  check('says when every connection is with a worker', async () => {
    const distributor = createDistributor<Connection>(createFakeClock());
    await distributor.allGiven();
    const one = worker();
    const registration = distributor.join(one.give);
    distributor.offer(connection(1));
    distributor.offer(connection(2));
    let isAll = false;
    const all = distributor.allGiven().then(() => {
      isAll = true;
    });
    registration.accepted();
    await Promise.resolve();
    assert.not(isAll);
    registration.accepted();
    await all;
  });

  check('loses none and doubles none, whatever workers do', async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('offer', 'accept', 'fail', 'leave', 'join'), fc.nat(5)), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = createFakeClock();
        const distributor = createDistributor<Connection>(clock);
        const holders = new Map<Connection, number>();
        const offered: Connection[] = [];
        const members: {
          isGone: boolean;
          held: Connection | undefined;
          fail: () => void;
          registration: { accepted: () => void; leave: () => void };
        }[] = [];
        const join = () => {
          const member = {
            isGone: false,
            held: undefined as Connection | undefined,
            fail: () => {},
            registration: { accepted() {}, leave() {} },
          };
          members.push(member);
          member.registration = distributor.join((one, onFailed) => {
            assert.not(member.isGone);
            member.held = one;
            member.fail = onFailed;
          });
        };
        join();
        for (const [step, number] of all) {
          const member = members[number % members.length];
          if (step === 'join') join();
          else if (step === 'offer') {
            offered.push(connection(offered.length));
            distributor.offer(offered.at(-1) as Connection);
          } else if (member === undefined || member.isGone) continue;
          else if (step === 'accept' && member.held !== undefined) {
            holders.set(member.held, (holders.get(member.held) ?? 0) + 1);
            member.held = undefined;
            member.registration.accepted();
          } else if (step === 'fail' && member.held !== undefined) {
            member.held = undefined;
            member.fail();
          } else if (step === 'leave') {
            member.isGone = true;
            member.held = undefined;
            member.registration.leave();
          }
        }
        // Workers that work take all that is left.
        const held: Connection[] = [];
        for (let turn = 0; turn <= offered.length; turn++) distributor.join((one) => held.push(one));
        for (let turn = 0; turn <= offered.length; turn++) await clock.advance(50);
        for (const { isGone, held: one } of members) if (!isGone && one !== undefined) held.push(one);
        for (const one of [...held]) holders.set(one, (holders.get(one) ?? 0) + 1);
        assert.equal(
          offered.map((one) => holders.get(one)),
          offered.map(() => 1),
        );
      }),
    );
  });
});
