import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { describe, sampled } from './check.ts';

const ROOT = resolve(import.meta.dirname, '..');

type Run = {
  readonly exitCode: number | null;
  readonly lastLine: string;
  readonly output: string;
  readonly durationMs: number;
};

const runNode = (words: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Run> =>
  new Promise((settle, fail) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, words, {
      cwd: ROOT,
      env: { ...process.env, CI: undefined, TEST_THOROUGH: undefined, RUNNER_NODE: process.execPath, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('error', fail);
    child.on('close', (exitCode) => {
      const lastLine = output.trimEnd().split('\n').at(-1) ?? '';
      settle({ exitCode, lastLine, output, durationMs: performance.now() - startedAt });
    });
  });

/** Runs the runner as `npm test` does, over the fixtures whose path holds one of `words`; flags are words too. */
const run = (folder: string, words: readonly string[] = [], variables?: NodeJS.ProcessEnv): Promise<Run> =>
  runNode(['test/run.mjs', `test/fixtures/${folder}`, ...words], variables);

/** A process that was killed is gone a moment later, or waits for somebody to ask for its exit code. */
const isRunningSoonAfter = async (pid: number): Promise<boolean> => {
  for (let looks = 0; looks < 50; looks++) {
    try {
      if (/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) return false;
    } catch {
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
};

/** What each file of fixtures/red must be counted as, and what the runner must tell of it. */
const RED: Readonly<Record<string, readonly [lastLine: string, reports: RegExp]>> = {
  'forgotten-run': ['0 passed, 1 failed', /no check ran in this file/],
  'throwing-before': ['0 passed, 1 failed', /no check ran in this file/],
  'throwing-after-each': ['0 passed, 1 failed', /no check ran in this file/],
  'left-over-only': ['0 passed, 1 failed', /no check ran in this file/],
  'bare-uvu-that-passes': ['0 passed, 1 failed', /no check ran in this file/],
  empty: ['0 passed, 1 failed', /no check ran in this file/],
  'no-test': ['0 passed, 1 failed', /no check ran in this file/],
  'empty-group': ['0 passed, 1 failed', /"a group that found nothing to check" holds no check/],
  failing: ['1 passed, 2 failed', /is broken on purpose, later/],
  stalled: ['1 passed, 1 failed', /Exiting early/],
  'throws-at-import': ['0 passed, 1 failed', /the file is broken/],
  'throws-non-error': ['1 passed, 4 failed', /threw a text/],
  'throws-at-its-end': ['1 passed, 1 failed', /what is shared does not end/],
  'exits-non-zero': ['1 passed, 1 failed', /FAIL .*exits-non-zero/],
  'hides-its-failure': ['0 passed, 1 failed', /FAIL .*hides-its-failure/],
  'exits-early': ['1 passed, 2 failed', /Exiting early/],
  'late-failure': ['1 passed, 1 failed', /Error: late/],
  'awaits-between-groups': ['2 passed, 1 failed', /the first group/],
  'check-in-a-check': ['1 passed, 1 failed', /FAIL .*check-in-a-check/],
  'late-check': ['1 passed, 1 failed', /FAIL .*late-check/],
  'quotes-another-run': ['0 passed, 1 failed', /prints what a greener run has printed/],
};
/** Why `check.ts` stands before uvu: alone it exits with 0 for each of these. */
const UNSEEN_BY_UVU = ['forgotten-run', 'throwing-before', 'throwing-after-each', 'left-over-only'];
/** These end only because the runner ends them. */
const STOPPED: readonly string[] = ['hanging', 'left-behind'];

describe('the runner', (check) => {
  check('runs on Node 24', () => assert.match(process.version, /^v24\./));

  for (const [name, [lastLine, reports]] of sampled(Object.entries(RED), 3)) {
    check(`turns red on ${name}`, async () => {
      const { exitCode, lastLine: last, output } = await run('red', [`/${name}.test.ts`]);
      assert.is(last, lastLine);
      assert.is(exitCode, 1);
      assert.match(output, reports);
      assert.not.match(output, /^#checks/m);
    });
  }

  check('is needed, because uvu alone is green on all its traps', async () => {
    for (const name of UNSEEN_BY_UVU) {
      assert.is((await runNode(['--no-warnings', `test/fixtures/red/${name}.test.ts`])).exitCode, 0, name);
    }
  });

  for (const name of STOPPED) {
    check(
      `turns red on ${name} once its time is over, does not wait for it, and ends what it has started`,
      async () => {
        const { exitCode, lastLine, output, durationMs } = await run('red', [`/${name}.test.ts`, '--limit-ms=1500']);
        assert.match(lastLine, /^[01] passed, 1 failed$/);
        assert.is(exitCode, 1);
        assert.match(output, /stopped after 1500 ms/);
        assert.ok(durationMs >= 1500 && durationMs < 5500, `${durationMs} ms`);
        const pid = Number(/started process (\d+)/.exec(output)?.[1]);
        assert.ok(pid > 0, output);
        assert.not.ok(await isRunningSoonAfter(pid), `process ${pid} is still running`);
      },
    );
  }

  check('is shown every red fixture', () => {
    const names = readdirSync(resolve(ROOT, 'test/fixtures/red')).map((file) => file.replace('.test.ts', ''));
    assert.equal(names.toSorted(), [...Object.keys(RED), ...STOPPED].toSorted());
  });

  check('adds up several files, green and red', async () => {
    const { exitCode, lastLine, output } = await run('', ['green/sums', 'red/failing']);
    assert.match(output, /^ok .*green\/sums/m);
    assert.match(output, /^FAIL .*red\/failing/m);
    assert.is(lastLine, '5 passed, 2 failed');
    assert.is(exitCode, 1);
  });

  const TOGETHER = ['failing', 'late-failure', 'stalled', 'throws-at-import', 'throws-non-error', 'forgotten-run'];
  check('names each red file of those that share a process, and runs those behind it', async () => {
    const words = ['green/sums', ...TOGETHER.map((name) => `red/${name}`), 'together/passes-behind-it'];
    const { exitCode, lastLine, output } = await run('', words);
    assert.match(output, /^FAIL .*red\/stalled[\s\S]*Exiting early[\s\S]*which it shares with .*passes-behind-it/m);
    assert.match(output, /^FAIL .*red\/late-failure[\s\S]*Error: late/m);
    for (const name of TOGETHER) assert.match(output, new RegExp(`^FAIL .*red/${name}\\.test`, 'm'));
    assert.match(output, /^ok .*green\/sums\.test\.ts \(4 passed/m);
    assert.match(output, /^ok .*together\/passes-behind-it\.test\.ts \(1 passed/m);
    assert.is(lastLine, '7 passed, 10 failed');
    assert.is(exitCode, 1);
  });

  check('stops what never ends in a process that files share, names it, and runs those behind it', async () => {
    const { exitCode, lastLine, output } = await run('together', ['--limit-ms=1500']);
    assert.match(output, /^FAIL .*keeps-a-timer[\s\S]*stopped after 1500 ms/m);
    assert.match(output, /^ok .*passes-behind-it/m);
    assert.is(lastLine, '1 passed, 1 failed');
    assert.is(exitCode, 1);
  });

  check(
    'stays green on what passes, in folders too, counts each check and gives its own Node on, whatever PATH says',
    async () => {
      const { exitCode, lastLine, output } = await run('green', [], { PATH: '/nowhere' });
      assert.is(lastLine, '5 passed, 0 failed');
      assert.is(exitCode, 0);
      assert.match(
        output,
        /^ok {3}test\/fixtures\/green\/deeper\/same-node\.test\.ts \(1 passed, \d+ ms, \d+ ms of processor\)$/m,
      );
      assert.match(output, /^ok {3}test\/fixtures\/green\/sums\.test\.ts \(4 passed, \d+ ms, \d+ ms of processor\)$/m);
    },
  );

  check('runs only the files whose path holds a word that was asked for', async () => {
    assert.is((await run('green', ['sums'])).lastLine, '4 passed, 0 failed');
  });

  check('leaves out what takes long unless it is asked for', async () => {
    assert.is((await run('long')).lastLine, '1 passed, 0 failed');
    assert.is((await run('long', ['--long'])).lastLine, '2 passed, 0 failed');
    assert.is((await run('long', ['--all'])).lastLine, '3 passed, 0 failed');
  });

  check(
    'tries with the full number of runs, all of each list and the thorough checks where what takes long is asked for',
    async () => {
      for (const [flags, figure, passed] of [
        [[], '1 runs of 1,4', 1],
        [['--long'], '100 runs of 1,2,3,4', 2],
        [['--all'], '100 runs of 1,2,3,4', 2],
      ] as const) {
        const { lastLine, output } = await run('thorough', flags);
        assert.is(lastLine, `${passed} passed, 0 failed`);
        assert.match(output, `figure: ${figure}`);
      }
    },
  );

  check('turns red when there is nothing to run', async () => {
    const { exitCode, lastLine, output } = await run('green', ['no-such-file']);
    assert.is(lastLine, '0 passed, 1 failed');
    assert.is(exitCode, 1);
    assert.match(output, /no test file/);
  });

  check('reports what was skipped outside CI, and stays green', async () => {
    const { exitCode, lastLine, output } = await run('skipping');
    assert.is(lastLine, '2 passed, 0 failed, 1 skipped');
    assert.is(exitCode, 0);
    assert.match(output, /skipped: is not run without it \(no a server of nowhere here\)/);
  });

  check('turns red in CI on what would be skipped elsewhere', async () => {
    const { exitCode, lastLine, output } = await run('skipping', [], { CI: 'true' });
    assert.is(lastLine, '2 passed, 1 failed');
    assert.is(exitCode, 1);
    assert.match(output, /a server of nowhere is missing, and CI must have it/);
  });
});
