import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { until } from '../agent/world.ts';
import { bundle, type Ended, type Running, start, type Variables } from '../processes.ts';
import { processesOf } from './processes.ts';

type Checked = Ended & Pick<Running, 'stdout' | 'stderr'> & { readonly words: readonly string[] };
type CheckNeeds = {
  readonly variables?: (directory: string) => Variables;
  readonly meanwhile?: (running: Running, temporary: string) => Promise<void>;
};

/** Runs `gatehouse demo --check` to its end, after which nothing of it is left, whatever came of it. */
const checked = async ({ variables = () => ({}), meanwhile = async () => {} }: CheckNeeds = {}): Promise<Checked> => {
  const directory = mkdtempSync(join(tmpdir(), 'demo-check-'));
  const temporary = join(directory, 'temporary');
  mkdirSync(temporary);
  const running = start(process.execPath, [bundle('gatehouse.js'), 'demo', '--check'], {
    variables: { TMPDIR: temporary, ...variables(directory) },
  });
  try {
    await meanwhile(running, temporary);
    const ended = await running.ended;
    assert.equal(processesOf({ temporary }), []);
    assert.equal(readdirSync(temporary), []);
    const words = [...running.stdout().matchAll(/^(OK|differs) /gm)].map(([, word = '']) => word);
    return { ...ended, stdout: running.stdout, stderr: running.stderr, words };
  } finally {
    await running.kill();
    rmSync(directory, { recursive: true, force: true });
  }
};

const pathOf = (name: string): string =>
  spawnSync('sh', ['-c', `command -v ${name}`])
    .stdout?.toString()
    .trim() ?? '';
const NO_SHELL = ['sh', 'curl', 'sed'].find((name) => pathOf(name) === '');
const ALL_KEPT = Array(11).fill('OK');

/** A policy under which nothing is ever flagged. */
const blindPolicy = (directory: string): string => {
  const names = ['harassment', 'harassment/threatening', 'violence', 'violence/graphic', 'illicit/violent'];
  const file = join(directory, 'policy.json');
  const categories = Object.fromEntries(names.map((name) => [name, { threshold: 1 }]));
  writeFileSync(file, JSON.stringify({ version: 'blind', categories }));
  return file;
};

describe('gatehouse demo --check', (check) => {
  check.needing(NO_SHELL, 'runs all lines, reports what it saw, and ends with 0', async () => {
    const { code, words, stdout, stderr } = await checked();
    assert.equal([code, words, stderr()], [0, ALL_KEPT, ''], stdout());
    assert.match(stdout(), 'flagged true');
    assert.match(stdout(), 'flagged false');
    assert.match(stdout(), 'demo/demo-model: Verified: 2.5 was added for alice@example.com, whose balance is now 15.');
    assert.match(stdout(), 'prompt_guard_blocked');
    assert.match(stdout(), "The model answered. In the relay's events: flag");
    assert.match(stdout(), 'prompt_guard_unavailable');
    assert.match(stdout(), 'credits it has made: 2.5');
  });

  check.needing(NO_SHELL, 'takes ports of its own, whatever PORT says', async () => {
    const { code, words, stderr } = await checked({ variables: () => ({ PORT: '1' }) });
    assert.equal([code, words, stderr()], [0, ALL_KEPT, '']);
  });

  check.needing(NO_SHELL, 'ends with 1 and names the line when a service does not do what was promised', async () => {
    const variables = (directory: string) => ({ MODERATION_POLICY_FILE: blindPolicy(directory) });
    const { code, words, stdout } = await checked({ variables });
    // The prompt audit goes by the gateway's policy, and the content moderation by the relay's own thresholds.
    const kept = Array(5).fill('OK');
    assert.equal([code, words], [1, ['differs', ...kept, 'differs', ...kept.slice(1)]], stdout());
    assert.match(stdout(), /^differs {2}A text that is flagged\n +flagged false, /);
  });

  check.needing(NO_SHELL, 'ends with 1 and promises nothing when a service does not start', async () => {
    const { code, stdout, stderr } = await checked({ variables: () => ({ MAX_INPUTS: 'many' }) });
    assert.equal([code, stdout()], [1, '']);
    assert.match(
      stderr(),
      /MAX_INPUTS: expected a whole number[^\n]*\ngatehouse demo: ended, because gateway did \(exit code 1\)\n$/,
    );
  });

  check.needing(NO_SHELL, 'leaves nothing behind when it is broken off, and does not call that a success', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const meanwhile = async (running: Running): Promise<void> => {
        await running.outputMatching(/^OK .*\n.*\n/);
        running.signal(signal);
      };
      const { code, words, stderr } = await checked({ meanwhile });
      assert.equal([code, stderr()], [1, '']);
      assert.ok(words.length < ALL_KEPT.length);
    }
    const meanwhile = async (running: Running, temporary: string): Promise<void> => {
      await until('it has begun', () => readdirSync(temporary).length > 0);
      running.signal('SIGTERM');
    };
    const { code, stdout, stderr } = await checked({ meanwhile });
    assert.equal([code, stdout(), stderr()], [1, '', '']);
  });

  check('says what is missing on a machine without a shell or without curl', async () => {
    const lacking = async (programs: readonly string[]): Promise<string> => {
      const variables = (directory: string): Variables => {
        for (const name of programs) symlinkSync(pathOf(name), join(directory, name));
        return { PATH: directory };
      };
      const { code, stdout, stderr } = await checked({ variables });
      assert.equal([code, stdout()], [1, '']);
      return stderr();
    };
    assert.is(await lacking([]), 'gatehouse demo: --check needs sh, not found here\n');
    if (pathOf('sh') === '') return;
    assert.is(await lacking(['sh']), 'gatehouse demo: --check needs curl and sed, not found here\n');
  });
});
