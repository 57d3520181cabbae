import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { hateful, jsonl, outOf, ROWS, resultsOf, run, start, withGateway } from './command.ts';
import { startGateway } from './world.ts';

describe('gatehouse eval, run again', (check) => {
  check(
    'a second run asks only for errors and edited rows, and reports on all',
    withGateway(
      (text, count) => (text === 'kind two' && count === 1 ? { status: 500 } : hateful(text, count)),
      async ({ url, asked }) => {
        const file = jsonl(...ROWS);
        assert.is((await run('--file', file, '--url', url)).code, 2);
        writeFileSync(file, readFileSync(file, 'utf8').replace('kind three', 'kind edited'));
        asked.length = 0;
        const { code, stdout } = await run('--file', file, '--url', url, '--json');
        // The gateway counts anew, so the second row fails once more.
        assert.is(code, 2);
        assert.equal(asked.toSorted(), ['kind edited', 'kind two']);
        asked.push('kind two');
        const third = await run('--file', file, '--url', url, '--json');
        assert.is(third.code, 0);
        assert.equal(
          [JSON.parse(stdout).reused, JSON.parse(third.stdout).reused, JSON.parse(third.stdout).judged],
          [1, 2, 3],
        );
        asked.length = 0;
        assert.is((await run('--file', file, '--url', url, '--fresh')).code, 2);
        assert.is(asked.length, 3);
        assert.is(resultsOf(file).length, 3);
      },
    ),
  );

  check('killed in mid-run it goes on where it stopped, over a torn line', async () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({ id: index, text: `hate ${index}`, flagged: 1 }));
    const file = jsonl(...rows);
    let reached: () => void = () => {};
    const half = new Promise<void>((resolve) => {
      reached = resolve;
    });
    let isHanging = true;
    const gateway = await startGateway(async (text) => {
      if (isHanging && Number(text.slice(5)) >= 6) {
        reached();
        await new Promise(() => {});
      }
      return hateful(text, 1);
    });
    try {
      const first = start('--file', file, '--url', gateway.url, '--concurrency', '1');
      await half;
      first.child.kill('SIGKILL');
      await first.ended;
      assert.is(resultsOf(file).length, 6);
      appendFileSync(outOf(file), readFileSync(outOf(file), 'utf8').slice(0, 70));
      isHanging = false;
      gateway.asked.length = 0;
      const { code, stdout } = await run('--file', file, '--url', gateway.url, '--json');
      assert.is(code, 0);
      assert.equal(gateway.asked.toSorted(), ['hate 10', 'hate 11', 'hate 6', 'hate 7', 'hate 8', 'hate 9']);
      assert.equal([JSON.parse(stdout).judged, JSON.parse(stdout).overall.recall], [12, 1]);
      assert.equal(new Set(resultsOf(file).map(({ id }) => id)).size, 12);
    } finally {
      gateway.close();
    }
  });

  check('interrupted it finishes what runs, prints the partial report and ends with 130', async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reached: () => void = () => {};
    const asking = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const gateway = await startGateway(async (text) => {
      reached();
      await released;
      return hateful(text, 1);
    });
    try {
      const run = start('--file', jsonl(...ROWS), '--url', gateway.url, '--concurrency', '1', '--json');
      await asking;
      const reported = new Promise((resolve) => run.child.stderr.once('data', resolve));
      run.child.kill('SIGINT');
      await reported;
      release();
      const { code, stdout } = await run.ended;
      assert.is(code, 130);
      const { judged, notReached, interrupted } = JSON.parse(stdout);
      assert.equal({ judged, notReached, interrupted }, { judged: 1, notReached: 2, interrupted: true });
    } finally {
      gateway.close();
    }
  });

  check(
    'a bad row anywhere costs no calls, clears no results and is named by its line',
    withGateway(hateful, async ({ url, asked }) => {
      const file = jsonl(...ROWS);
      await run('--file', file, '--url', url);
      appendFileSync(file, '{"id":"d","labels":{"hate":1}}\n');
      asked.length = 0;
      const { code, stderr } = await run('--file', file, '--url', url, '--fresh');
      assert.is(code, 1);
      assert.match(stderr, `gatehouse eval: ${file} line 4: expected text in the field "text" or "prompt"`);
      assert.is(asked.length, 0);
      assert.is(resultsOf(file).length, 3);
    }),
  );

  check(
    'never writes over a file that holds something else',
    withGateway(hateful, async ({ url }) => {
      const file = jsonl(...ROWS);
      const before = readFileSync(file, 'utf8');
      const { code, stderr } = await run('--file', file, '--url', url, '--out', file, '--fresh');
      assert.is(code, 1);
      assert.match(stderr, 'line 1: expected a result of an earlier run');
      assert.is(readFileSync(file, 'utf8'), before);
      const nowhere = join(dirname(file), 'none', 'out.jsonl');
      assert.match(
        (await run('--file', file, '--url', url, '--out', nowhere)).stderr,
        `--out: expected a path in a directory that exists, ${dirname(nowhere)} is none`,
      );
    }),
  );
});
