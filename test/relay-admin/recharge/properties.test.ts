import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import { BALANCE_FAULTS } from '../../demo/relay/faults/names.ts';
import type { HeldOperations } from '../harness/held-operations.ts';
import { answerOf, keyNumber, previewed } from '../harness/world.ts';
import { aCommand } from './commands.ts';
import { createProcesses } from './processes.ts';
import { play } from './script.ts';
import { changesIn, comeTo } from './steps.ts';

/** To see a failure again: `SEED=<its seed>` before the command that runs this file, and `REPLAY_PATH=<its path>` for the first. */
const { SEED, REPLAY_PATH, RUNS = thorough(50, 2000) } = process.env;
const runs = {
  numRuns: Number(RUNS),
  includeErrorInReport: true,
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
};

const COMMON = ['verified', 'answer_not_recorded', 'no_answer', 'store_unavailable', 'timed_out', 'history_unreadable']
  .concat(['IDEMPOTENCY_CONFLICT', 'RECHARGE_REFUSED', 'RECHARGE_NOT_SENT', 'PREVIEW_STALE', 'CANCELLED', 'DEADLINE'])
  .concat(['CONFIRM_TOKEN_EXPIRED', 'UNRESOLVED_RECHARGE', 'JOURNAL_UNAVAILABLE', 'refusal_unconfirmed']);

describe('recharges in any order, over any failures, kills and restarts', (check) => {
  check('credit each preview at most once, and report nothing else', async () => {
    const reported = new Set<string>();
    const missing = (): readonly string[] => COMMON.filter((word) => !reported.has(word));
    const playAll = (): Promise<void> =>
      fc.assert(
        fc.asyncProperty(fc.array(aCommand, { minLength: 5, maxLength: 45, size: 'max' }), async (script) => {
          for (const word of await play(script)) reported.add(word);
        }),
        REPLAY_PATH === undefined ? runs : { ...runs, path: REPLAY_PATH },
      );
    await playAll();
    if (REPLAY_PATH !== undefined) return;
    // Nothing would be tried by scripts in which nothing happens, and some words are rare.
    for (let more = 0; more < 4 && SEED === undefined && missing().length > 0; more++) await playAll();
    assert.equal(missing(), []);
  });
});

/** Every operation of a process waits twice for the scheduler: before it is done, and before it answers. */
const scheduled = (scheduler: fc.Scheduler): HeldOperations => ({
  waiting: () => [],
  async hold(_, { label, effect }) {
    await scheduler.schedule(Promise.resolve(), label);
    const done = await effect().then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    await scheduler.schedule(Promise.resolve(), `${label} answers`);
    return done();
  },
  release: () => {},
  kill: () => {},
});

const PROMPT_FAULTS = BALANCE_FAULTS.filter(
  (fault) => !['slow', 'late', 'late-without-history', 'stuck', 'stuck-before', 'huge-after'].includes(fault),
);
/** Refusals before anything is on record, after which the pair may still go another way. */
const PASSING = new Set(['IDEMPOTENCY_CONFLICT', 'PREVIEW_STALE', 'CANCELLED', 'UNRESOLVED_RECHARGE']);
const aCall = fc.record({ token: fc.nat({ max: 2 }), key: fc.nat({ max: 2 }), isCancelled: fc.boolean() });

describe('recharges at the same time in one process', (check) => {
  check('are sent once for each pair, and everyone who asks for it gets the same answer', () =>
    fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom(undefined, undefined, ...PROMPT_FAULTS), { maxLength: 3 }),
        fc.array(aCall, { minLength: 2, maxLength: 10 }),
        async (scheduler, faults, calls) => {
          const world = createProcesses(scheduled(scheduler));
          const { admin } = world.start('p');
          const previews = Promise.all([2, 2, 4].map((user, index) => previewed(admin, user, `${index + 1}.5`)));
          const tokens = await scheduler.waitFor(previews);
          for (const fault of faults) if (fault !== undefined) world.control.useFault(fault);
          const asked = calls.map(async ({ token, key, isCancelled }) => {
            const caller = new AbortController();
            if (isCancelled) void scheduler.schedule(Promise.resolve(), 'cancel').then(() => caller.abort());
            const given = { preview_token: tokens[token]!, idempotency_key: keyNumber(key) };
            return { token, key, answer: await answerOf(admin, 'recharge', given, caller.signal) };
          });
          const answers = await scheduler.waitFor(Promise.all(asked));

          const posts = changesIn(world.control).map(({ body, headers }) => ({
            body,
            key: headers['idempotency-key'],
          }));
          assert.is(new Set(posts.map(({ key }) => key)).size, posts.length, 'a key was sent twice');
          assert.is(new Set(posts.map(({ body }) => /"balance":([\d.]+)/.exec(body)?.[1])).size, posts.length);
          const credits = world.control.credits();
          const reported = new Map<string, Set<string>>();
          for (const { token, key, answer } of answers) {
            const own = credits.filter(
              ({ amount, idempotencyKey }) => amount === `${token + 1}.5` && idempotencyKey === keyNumber(key),
            );
            const word = comeTo(answer);
            if (word === 'verified') assert.is(own.length, 1);
            if (answer.kind === 'failed') assert.equal(own, [], answer.text);
            const pair = `${token}/${key}`;
            if (!PASSING.has(word)) reported.set(pair, (reported.get(pair) ?? new Set()).add(word));
          }
          for (const [pair, words] of reported) assert.is(words.size, 1, `${pair} is told ${[...words]}`);
        },
      ),
      runs,
    ),
  );
});
