import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createPublisher } from '../../../src/agent/events/publisher.ts';
import type { DirectoryEvent, Store } from '../../../src/agent/store/store.ts';
import { describe, rejection } from '../../check.ts';

const DRAFT = { type: 'session.idle', properties: { sessionID: 's' } } as const;
const fact = (count: number) => ({ drafts: Array.from({ length: count }, () => DRAFT) });

/** A store that settles its commits when and in the order the test wants. */
const heldStore = () => {
  let last = 0;
  const held: { readonly settle: (isKept: boolean) => void }[] = [];
  const commit: Store['commit'] = (_changes, events) => {
    const placed = events.map(({ directory, draft }): DirectoryEvent => {
      last += 1;
      return { directory, event: { ...draft, id: `evt_${String(last).padStart(6, '0')}` } };
    });
    const settling = Promise.withResolvers<readonly DirectoryEvent[]>();
    held.push({ settle: (isKept) => (isKept ? settling.resolve(placed) : settling.reject(new Error('full'))) });
    return settling.promise;
  };
  return { commit, held };
};

describe('what is published', (check) => {
  check('is published in order, once each, and only when it is stored, however the store settles', async () => {
    const facts = fc.array(fc.record({ count: fc.nat(3), isKept: fc.boolean(), rank: fc.nat() }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(facts, async (given) => {
        const { commit, held } = heldStore();
        const { publish, subscribe } = createPublisher({ commit });
        const collected: string[] = [];
        subscribe(({ event }) => void collected.push(event.id));
        const answers = given.map(({ count }) => publish('/', fact(count)).catch(() => []));
        const order = given.map((one, index) => ({ ...one, index })).sort((left, right) => left.rank - right.rank);
        for (const { index, isKept } of order) {
          held[index]?.settle(isKept);
          await Promise.resolve();
        }
        const reported = (await Promise.all(answers)).flat().map(({ id }) => id);
        assert.equal(collected, reported);
        assert.equal(collected, [...collected].sort());
        assert.is(
          collected.length,
          given.reduce((sum, { count, isKept }) => sum + (isKept ? count : 0), 0),
        );
      }),
    );
  });

  check('settles once every listener was called', async () => {
    const { commit, held } = heldStore();
    const { publish, subscribe } = createPublisher({ commit });
    const collected: string[] = [];
    subscribe(() => void collected.push('told'));
    const published = publish('/', fact(1)).then(() => collected.push('settled'));
    held[0]?.settle(true);
    await published;
    assert.equal(collected, ['told', 'settled']);
  });

  check('is not published when it could not be stored, and the next one is', async () => {
    const { commit, held } = heldStore();
    const { publish, subscribe } = createPublisher({ commit });
    const collected: string[] = [];
    subscribe(({ event }) => void collected.push(event.id));
    const [first, second] = [publish('/', fact(1)), publish('/', fact(1))];
    held[1]?.settle(true);
    held[0]?.settle(false);
    assert.match(String(await rejection(first)), 'full');
    await second;
    assert.equal(collected, ['evt_000002']);
  });

  check('is sent to each listener by itself, and to none that has unsubscribed', async () => {
    const { commit, held } = heldStore();
    const { publish, subscribe } = createPublisher({ commit });
    let count = 0;
    const listener = () => {
      count += 1;
    };
    const leave = subscribe(listener);
    subscribe(listener);
    const publishOne = async (place: number) => {
      const done = publish('/', fact(1));
      held[place]?.settle(true);
      await done;
    };
    await publishOne(0);
    assert.is(count, 2);
    leave();
    leave();
    await publishOne(1);
    assert.is(count, 3);
  });
});
