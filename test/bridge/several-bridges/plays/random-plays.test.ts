import { createMemoryStore } from '../../../agent/store/memory-store.ts';
import { describe, thorough } from '../../../check.ts';
import { inProcess } from './arena.ts';
import { play } from './play.ts';

const { PLAYS = thorough(50, 1000), FIRST_PLAY = 1 } = process.env;
const STEPS = thorough(2, 4);

describe('two bridges over two agent servers, all of which are killed, and whose connections break', (check) => {
  check('lose, repeat and mix up no answer, in random plays', async () => {
    const arena = inProcess(async (ids) => createMemoryStore({ ids }));
    for (let seed = Number(FIRST_PLAY); seed < Number(FIRST_PLAY) + Number(PLAYS); seed += 1)
      await play(seed, STEPS, arena);
  });
});
