import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { aCommand, play } from './script.ts';

/** To see a failure again: `SEED=<its seed>` before the command that runs this file, and `REPLAY_PATH=<its path>` for the first. */
const { SEED, REPLAY_PATH, RUNS = '400' } = process.env;
const runs = {
  numRuns: Number(RUNS),
  includeErrorInReport: true,
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
};

const ROUNDS = SEED === undefined ? 4 : 1;

const COMMON = [
  ...['unnamed', 'named', 'response'].flatMap((manner) => [`${manner} goes on`, `${manner} in a new session`]),
  ...['stopped', 'waited', 'dropped', 'dropped under way', 'restart under way', 'name used', 'forgotten', 'lost'],
];

describe('conversations of many clients, over edits, stops, losses and restarts', (check) => {
  for (const [bridges, hasEvents, where] of [
    [1, true, ''],
    [2, true, ', at two bridges in turn'],
    [2, false, ', at two bridges in turn to which no event comes'],
  ] as const)
    check(`go on only where the same was said, for the same owner, and one at a time${where}`, async () => {
      const seen = new Set<string>();
      // A bridge that holds a conversation prompts at once.
      const common = COMMON.filter((what) => bridges === 1 || what !== 'dropped');
      const isComplete = () => common.every((what) => seen.has(what));
      // Chance leaves one of them out in one of thirty rounds.
      for (let round = 0; round === 0 || (round < ROUNDS && !isComplete()); round += 1)
        await fc.assert(
          fc.asyncProperty(fc.array(aCommand, { minLength: 10, maxLength: 80, size: 'max' }), async (script) => {
            for (const what of await play(script, bridges, hasEvents)) seen.add(what);
          }),
          {
            ...runs,
            numRuns: Math.ceil(runs.numRuns / bridges ** 2),
            ...(REPLAY_PATH === undefined ? {} : { path: REPLAY_PATH }),
          },
        );
      // Nothing would be tried by scripts in which nothing happens.
      if (REPLAY_PATH === undefined) for (const what of common) assert.ok(seen.has(what), `never came to ${what}`);
    });
});
