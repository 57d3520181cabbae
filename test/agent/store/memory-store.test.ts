import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { checkStore } from './contract.ts';
import { createMemoryStore } from './memory-store.ts';
import { idsFrom, told } from './samples.ts';

describe('a store in memory', (check) => {
  checkStore(check, {
    isLasting: false,
    createPlace: async () => ({ open: async (ids) => createMemoryStore({ ids }), clear: async () => {} }),
  });

  check('holds no more than the newest events, even if nobody prunes them', async () => {
    const store = createMemoryStore({ ids: idsFrom(), eventLimit: 3 });
    const kept = [
      ...(await store.commit([], [told('a'), told('b')])),
      ...(await store.commit([], [told('c'), told('d')])),
      ...(await store.commit([], [told('e')])),
    ];
    assert.equal(await store.events({ afterID: '', limit: 10 }), kept.slice(-3));
  });
});
