import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { checkStore } from './contract.ts';
import { createMemoryStore } from './memory-store.ts';
import { idsFrom, reported } from './samples.ts';

describe('a store in memory', (check) => {
  checkStore(check, {
    isLasting: false,
    createPlace: async () => ({ open: async (ids) => createMemoryStore({ ids }), clear: async () => {} }),
  });

  check('holds no more than the newest events, even if no one prunes them', async () => {
    const store = createMemoryStore({ ids: idsFrom(), eventLimit: 3 });
    const kept = [
      ...(await store.commit([], [reported('a'), reported('b')])),
      ...(await store.commit([], [reported('c'), reported('d')])),
      ...(await store.commit([], [reported('e')])),
    ];
    assert.equal(await store.events({ afterID: '', limit: 10 }), kept.slice(-3));
  });
});
