import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { hateful, jsonl, outOf, ROWS, resultsOf, run, withGateway } from './command.ts';
import { type Script, startGateway } from './world.ts';

/** A gateway whose model and policy can be changed between runs. */
const changing = () => {
  const setup = { backendModel: 'big', policy: '1' };
  const script: Script = (text) => ({
    ...hateful(text, 1),
    headers: { 'x-moderation-backend-model': setup.backendModel, 'x-moderation-policy': setup.policy },
  });
  return { setup, script };
};

const withChanging =
  (body: (world: Awaited<ReturnType<typeof startGateway>> & ReturnType<typeof changing>) => Promise<void>) =>
  async () => {
    const world = changing();
    await withGateway(world.script, (gateway) => body({ ...gateway, ...world }))();
  };

describe('gatehouse eval, when the gateway is not what it was', (check) => {
  check(
    'verdicts of another address are neither used nor lost',
    withChanging(async (one) => {
      await withGateway(hateful, async (other) => {
        const file = jsonl(...ROWS);
        await run('--file', file, '--url', one.url);
        const { code, stdout, stderr } = await run('--file', file, '--url', other.url, '--json');
        assert.is(code, 0);
        assert.equal([JSON.parse(stdout).reused, other.asked.length], [0, 3]);
        assert.match(stderr, '3 results in');
        const back = await run('--file', file, '--url', `${one.url}/v1`, '--json');
        const { reused, backendModel, policy } = JSON.parse(back.stdout);
        assert.equal({ reused, backendModel, policy }, { reused: 3, backendModel: 'big', policy: '1' });
      })();
    }),
  );

  for (const change of [{ backendModel: 'small' }, { policy: '2' }]) {
    check(
      `a changed ${Object.keys(change)[0]} ends the run before anything is mixed`,
      withChanging(async ({ url, setup, asked }) => {
        const file = jsonl(...ROWS);
        await run('--file', file, '--url', url, '--limit', '2');
        const before = readFileSync(outOf(file), 'utf8');
        Object.assign(setup, change);
        // One row is left to ask; with two, there is none, and one of them is asked again.
        for (const limit of ['3', '2']) {
          asked.length = 0;
          const { code, stdout, stderr } = await run('--file', file, '--url', url, '--limit', limit);
          assert.is(code, 1);
          assert.is(stdout, '');
          assert.match(stderr, `${Object.values(change)[0]}`);
          assert.match(stderr, 'backend model big, policy 1; give --fresh');
          assert.match(stderr, '--out');
          assert.is(asked.length, 1);
          assert.is(readFileSync(outOf(file), 'utf8'), before);
        }
        const { code, stdout } = await run('--file', file, '--url', url, '--fresh');
        assert.is(code, 0);
        const { backendModel, policy } = setup;
        assert.match(stdout, `at ${url}: backend model ${backendModel}, policy ${policy}\n3 rows, 3 judged, 0 errors`);
      }),
    );
  }

  check(
    'with nothing left to ask, one row is asked to compare and not counted twice',
    withChanging(async ({ url, asked }) => {
      const file = jsonl(...ROWS);
      await run('--file', file, '--url', url);
      asked.length = 0;
      const { code, stdout } = await run('--file', file, '--url', url, '--json');
      assert.is(code, 0);
      assert.equal(asked, ['hate one']);
      const { judged, reused, rows } = JSON.parse(stdout);
      assert.equal({ judged, reused, rows }, { judged: 3, reused: 3, rows: 3 });
      assert.is(resultsOf(file).length, 3);
    }),
  );

  check(
    'with nothing left to ask and no verdict to compare, nothing is reported',
    withGateway(
      (text, count) => (count > 1 ? { status: 500 } : hateful(text, count)),
      async ({ url }) => {
        const file = jsonl(...ROWS);
        await run('--file', file, '--url', url);
        const { code, stdout, stderr } = await run('--file', file, '--url', url);
        assert.equal([code, stdout], [1, '']);
        assert.match(stderr, 'no new verdict to compare the earlier results with (500)');
      },
    ),
  );

  check(
    'with --fresh the earlier results stay until there is a verdict',
    withChanging(async ({ url }) => {
      const file = jsonl(...ROWS);
      await run('--file', file, '--url', url);
      const before = readFileSync(outOf(file), 'utf8');
      const closed = await startGateway(hateful);
      closed.close();
      assert.is((await run('--file', file, '--url', closed.url, '--fresh')).code, 1);
      assert.is(readFileSync(outOf(file), 'utf8'), before);
      await withGateway(
        () => ({ status: 500 }),
        async (failing) => {
          assert.is((await run('--file', file, '--url', failing.url, '--fresh')).code, 2);
        },
      )();
      assert.is(readFileSync(outOf(file), 'utf8'), before);
    }),
  );

  check('a run that ends before any verdict leaves no results file', async () => {
    const file = jsonl(...ROWS);
    for (const status of [401, 500]) {
      await withGateway(
        () => ({ status }),
        async ({ url }) => {
          await run('--file', file, '--url', url);
        },
      )();
      assert.not.ok(existsSync(outOf(file)), `${status}`);
    }
  });

  check('a gateway that goes away ends the run with what was reached, and the next run goes on', async () => {
    const rows = Array.from({ length: 60 }, (_, index) => ({ id: index, text: `hate ${index}`, flagged: 1 }));
    const file = jsonl(...rows);
    const dying = await startGateway((text, count) => {
      if (text === 'hate 4') dying.close();
      return hateful(text, count);
    });
    const { code, stdout } = await run('--file', file, '--url', dying.url, '--concurrency', '1');
    assert.is(code, 2);
    assert.match(stdout, '60 rows, 4 judged, 20 errors');
    assert.match(stdout, 'STOPPED: nothing answers any more, 36 of 60 rows were not reached');
    await withGateway(hateful, async ({ url, asked }) => {
      // As if the gateway were back under its address.
      writeFileSync(outOf(file), readFileSync(outOf(file), 'utf8').replaceAll(dying.url, url));
      const again = await run('--file', file, '--url', url, '--json');
      assert.is(again.code, 0);
      assert.equal([JSON.parse(again.stdout).judged, asked.length], [60, 56]);
    })();
  });
});
