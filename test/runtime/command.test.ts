import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { keyOfPassword, parsePasswordHash } from '../../src/console/accounts/password-hash.ts';
import { deriveScryptKey } from '../../src/console/adapter/scrypt.ts';
import { describe } from '../check.ts';
import { bundle, ROOT, run } from './processes.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const gatehouse = (...words: readonly string[]) => run(process.execPath, [bundle('gatehouse.js'), ...words]);

describe('gatehouse', (check) => {
  check('explains itself and each of its commands', async () => {
    const explanations = [
      [[], /Usage: gatehouse <command>/],
      [['--help'], /Usage: gatehouse <command>/],
      [['gateway', '--help'], /MODERATION_API_KEYS/],
      [['eval', '--help'], /gatehouse eval --file/],
      [['demo', '--help'], /never use it for real input/],
    ] as const;
    for (const [words, pattern] of explanations) {
      const { code, stdout, stderr } = await gatehouse(...words);
      assert.equal([code, stderr], [0, ''], words.join(' '));
      assert.match(stdout, pattern);
    }
  });

  check('has bundles of its services that explain themselves too, and take no arguments', async () => {
    for (const name of ['gateway', 'agent', 'bridge', 'relay-admin', 'console']) {
      const program = (...words: readonly string[]) => run(process.execPath, [bundle(`${name}.js`), ...words]);
      const help = await program('--help');
      assert.equal([help.code, help.stderr], [0, ''], name);
      assert.match(help.stdout, `gatehouse ${name}: `);
      assert.equal(await program('--port', 'canary'), {
        ...help,
        code: 1,
        stdout: '',
        stderr: `gatehouse ${name}: expected no arguments, only environment variables${name === 'relay-admin' ? '' : ': PORT=...'}; see --help\n`,
      });
    }
  });

  check('reports its version', async () => {
    for (const flag of ['--version', '-v']) assert.is((await gatehouse(flag)).stdout, `${version}\n`);
  });

  check('refuses what it does not know, without repeating it, and ends with 1', async () => {
    const { code, stdout, stderr } = await gatehouse('gatway');
    assert.equal([code, stdout], [1, '']);
    assert.is(
      stderr,
      'gatehouse: unknown command, expected gateway, agent, bridge, relay-admin, relay-check, console, eval or demo; the nearest is gateway; see gatehouse --help\n',
    );
    assert.match((await gatehouse('sk-canary-0123456789')).stderr, /eval or demo; see gatehouse --help\n$/);
    const gateway = await gatehouse('gateway', '--port', '1');
    assert.is(gateway.code, 1);
    assert.match(gateway.stderr, 'only environment variables');
    for (const [args, problem] of [
      [['now'], 'expected --check or no arguments'],
      [['--foo'], 'unknown option --foo, expected --check'],
      [['--check', '--key=canary'], 'unknown option --key, expected --check'],
      [['--check', '--check'], 'expected --check only once'],
    ] as const) {
      const { code, stdout, stderr } = await gatehouse('demo', ...args);
      assert.equal([code, stdout, stderr], [1, '', `gatehouse demo: ${problem}; see gatehouse demo --help\n`]);
    }
    const evaluation = await gatehouse('eval', '--nonsense');
    assert.is(evaluation.code, 1);
    assert.match(evaluation.stderr, /^gatehouse eval: /);
  });

  check('hashes a password that it reads from standard input, and takes none as an argument', async () => {
    const hashing = (input: string, ...words: readonly string[]) =>
      spawnSync(process.execPath, [bundle('gatehouse.js'), 'console', 'hash-password', ...words], {
        input,
        encoding: 'utf8',
      });
    const { status, stdout, stderr } = hashing('a canary password\nand more');
    assert.equal([status, stderr], [0, '']);
    const hash = parsePasswordHash(stdout.trim());
    assert.is(hash && (await keyOfPassword('a canary password', hash, deriveScryptKey)), hash?.key);
    for (const [input, words] of [
      ['short\n', []],
      ['', ['a canary password']],
    ] as const) {
      const refused = hashing(input, ...words);
      assert.equal([refused.status, refused.stdout], [1, '']);
      assert.match(refused.stderr, /^gatehouse console hash-password: expected /);
      assert.not.match(refused.stderr, 'canary');
    }
  });
});
