import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { serveNode } from '../../src/adapter/node/server.ts';
import { DEMO_ADMIN_KEY } from '../../src/demo/relay/records/secrets.ts';
import { describe } from '../check.ts';
import { ALICE } from '../demo/relay/moderated.ts';
import { ROOT } from '../docs/pages.ts';
import { freshRelay } from '../relay-admin/check/world.ts';

type Ran = { readonly code: unknown; readonly stdout: string; readonly stderr: string };

const run = async (args: readonly string[], variables: Readonly<Record<string, string>>): Promise<Ran> => {
  const program = join(ROOT, 'src/main/gatehouse.ts');
  const child = spawn(process.execPath, ['--no-warnings', program, 'relay-check', ...args], { env: variables });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  const [code] = await once(child, 'close');
  return { code, ...texts };
};

describe('gatehouse relay-check', (check) => {
  check('exits with 1 and a line for all that is open, with 0 where nothing is, and prints no key', async () => {
    const relay = freshRelay();
    const server = await serveNode(relay.handler, { host: '127.0.0.1', port: 0 });
    const userKey = relay.keyOf(ALICE);
    const variables = {
      RELAY_BASE_URL: server.address,
      RELAY_ALLOWED_HOST: '127.0.0.1',
      RELAY_ADMIN_API_KEY: DEMO_ADMIN_KEY,
      CHECK_USER_KEY: userKey,
      CHECK_TEXT: 'I will kill you',
    };
    const { CHECK_USER_KEY: _, ...withoutUser } = variables;
    try {
      const fresh = await run([], variables);
      assert.is(fresh.code, 1);
      assert.is(fresh.stdout.match(/^open: .*\.$/gm)?.length, 9);
      await relay.setUp();
      assert.equal(await run([], variables), { code: 0, stdout: 'nothing is open\n', stderr: '' });
      const untried = await run([], withoutUser);
      assert.is(untried.code, 1);
      assert.match(untried.stdout, /^open: no chat was tried: set CHECK_USER_KEY/);
      assert.equal(await run(['--settings-only'], withoutUser), {
        code: 0,
        stdout: 'nothing is open in the settings; no chat was tried\n',
        stderr: '',
      });
      const wrongKey = await run([], { ...variables, RELAY_ADMIN_API_KEY: 'another-key-of-nobody' });
      assert.is(wrongKey.code, 1);
      assert.match(wrongKey.stdout, 'UPSTREAM_AUTH');
      for (const { stdout, stderr } of [fresh, untried, wrongKey])
        for (const key of [DEMO_ADMIN_KEY, userKey, 'another-key-of-nobody']) assert.not.match(stdout + stderr, key);
    } finally {
      await server.stop(1000);
    }
  });
  check('says what is wrong with its settings and its arguments, without repeating them', async () => {
    const unset = await run([], { CHECK_THRESHOLD: 'canary' });
    assert.equal([unset.code, unset.stdout], [1, '']);
    assert.match(unset.stderr, /^gatehouse relay-check: RELAY_BASE_URL: is required/);
    const wrong = await run(['--canary'], {});
    assert.equal([wrong.code, wrong.stdout], [1, '']);
    assert.match(wrong.stderr, 'expected --settings-only or no arguments');
    assert.not.match(unset.stderr + wrong.stderr, 'canary');
  });
  check('has a help', async () => {
    const { code, stdout } = await run(['--help'], {});
    assert.is(code, 0);
    for (const word of [
      '--settings-only',
      'CHECK_USER_KEY',
      'CHECK_MODEL',
      'CHECK_TEXT',
      'CHECK_THRESHOLD',
      'RELAY_BASE_URL',
    ])
      assert.match(stdout, word);
  });
});
