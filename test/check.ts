import { exec, suite } from 'uvu';
import './compile-cache.ts';

type Body = () => void | Promise<void>;

export type Check = {
  /** States one promise and tries it. */
  (name: string, body: Body): void;
  /** A check that needs something this machine may lack: outside CI it is reported as skipped, in CI it fails. */
  readonly needing: (missing: string | undefined, name: string, body: Body) => void;
  /** A check that is slow and rarely breaks: `npm run test:long` alone tries it. */
  readonly thorough: (name: string, body: Body) => void;
};

const isThorough = process.env.TEST_THOROUGH !== undefined;

/** What the checks of this process have come to so far. */
export const counts = { total: 0, passed: 0, skipped: 0 };
// The runner believes only this line, which bare uvu cannot print: uvu alone stays green on a forgotten run(),
// on a throwing hook and on a left-over only.
process.on('exit', () => {
  process.stdout.write(`\n#checks ${JSON.stringify(counts)}\n`);
  if (counts.passed + counts.skipped !== counts.total || counts.total === 0) process.exitCode = 1;
});

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(`threw ${String(thrown)}`));

/** Groups checks and always runs them. There are no hooks and there is no `only`: both let uvu pass what failed. */
export const describe = (name: string, declare: (check: Check) => void): void => {
  const group = suite(name);
  const check = (checkName: string, body: Body): void => {
    counts.total += 1;
    let runs = 0;
    group(checkName, async () => {
      runs += 1;
      try {
        await body();
      } catch (thrown) {
        throw asError(thrown);
      }
      // In a file that awaits between its groups uvu runs some of them twice, and forgets what failed the first time.
      if (runs === 1) counts.passed += 1;
    });
  };
  const needing = (missing: string | undefined, checkName: string, body: Body): void => {
    const isRequired = process.env.CI !== undefined;
    if (missing === undefined) check(checkName, body);
    else if (isRequired) {
      check(checkName, () => {
        throw new Error(`${missing} is missing, and CI must have it`);
      });
    } else {
      counts.total += 1;
      counts.skipped += 1;
      console.log(`skipped: ${checkName} (no ${missing} here)`);
    }
  };
  const declaredBefore = counts.total;
  let left = 0;
  const thoroughly = (checkName: string, body: Body): void => {
    if (isThorough) check(checkName, body);
    else left += 1;
  };
  declare(Object.assign(check, { needing, thorough: thoroughly }));
  if (counts.total === declaredBefore && left === 0) throw new Error(`"${name}" holds no check`);
  group.run();
};

/** Ends what the groups above it in a file share. It is no check: the file fails if it throws, and counts as before if not. */
export const atEnd = (end: () => void | Promise<void>): void => {
  const ending = suite('the end of this file');
  ending('ends what its checks share', async () => {
    try {
      await end();
    } catch (thrown) {
      throw asError(thrown);
    }
  });
  ending.run();
};

/** Runs the declared groups, in a process that had `UVU_DEFER` as a global before it imported this: else they run by themselves. */
export const runGroups = (): Promise<void> => exec();

/** How often something random is tried: `quick` times by `npm test`, `full` times by `npm run test:long`. */
export const thorough = (quick: number, full: number): number => (isThorough ? full : quick);

/** All of a long list for `npm run test:long`; each so many of it for `npm test`, the first among them. */
export const sampled = <Item>(items: readonly Item[], step: number): readonly Item[] =>
  items.filter((_, at) => isThorough || at % step === 0);

/** Fails unless `promise` rejects; returns what it rejected with. */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('Expected a rejection, but the promise was fulfilled');
};
