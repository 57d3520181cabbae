import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { judgedBy } from '../backends.ts';
import { KEY, moderate } from '../client.ts';
import { bundle, start } from '../processes.ts';
import { gatewayEnd } from './process.ts';
import { withGateway } from './world.ts';

const NOWHERE = judgedBy('http://127.0.0.1:9');
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const fileOf = (name: string, text: string): string => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};
/** What it said in its own words: the log's lines left out. */
const errorTexts = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));

/** A Node of this machine that is too old for us, if there is one beside ours. */
const oldNode = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .filter((file) => existsSync(file))
    .find((file) => {
      const [major = 0, minor = 0] = spawnSync(file, ['--version'], { encoding: 'utf8' })
        .stdout.slice(1)
        .split('.')
        .map(Number);
      return major < 22 || (major === 22 && minor < 15);
    });
const PRETEND = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.14.0' } })`;
const NODE_BUNDLES = ['gateway.js', 'gatehouse.js', 'moderation-gateway.js', 'demo.js', 'eval.js'];

describe('a start of the Node bundle that fails', (check) => {
  check('over a port in use says in one line which port, and ends with 1', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as { port: number };
    const { code, stderr } = await gatewayEnd({ ...NOWHERE, MODERATION_API_KEYS: KEY, PORT: String(port) });
    squatter.close();
    assert.is(code, 1);
    assert.equal(errorTexts(stderr), [
      `gatehouse gateway: PORT: port ${port} on 127.0.0.1 is in use; set PORT to a free one`,
    ]);
  });

  check.thorough('over an address that is not of this machine names HOST', async () => {
    const { code, stderr } = await gatewayEnd({ ...NOWHERE, MODERATION_API_KEYS: KEY, HOST: '192.0.2.1' });
    assert.is(code, 1);
    assert.equal(errorTexts(stderr), [
      'gatehouse gateway: HOST: expected an address of this machine, such as 127.0.0.1 or 0.0.0.0',
    ]);
  });

  check('over several variables names them all at once, a line each, and shows no value', async () => {
    const { code, stderr } = await gatewayEnd({
      PORT: 'canary-port',
      LOG_LEVEL: 'canary-loud',
      BACKEND_BASE_URL: 'ftp://canary-host',
      BACKEND_API_KEYS: 'canary key',
      MODERATION_API_KEYS: KEY,
      MODERATION_MODELS: '{"canary',
      RATE_LIMIT_RPM: '-1',
      REDIS_URL: 'http://:canary-password@127.0.0.1',
    });
    assert.is(code, 1);
    assert.not.match(stderr, /canary/);
    const named = errorTexts(stderr).map((line) => /^gatehouse gateway: ([A-Z_]+): expected /.exec(line)?.[1]);
    assert.equal(named.sort(), [
      'BACKEND_API_KEYS',
      'BACKEND_BASE_URL',
      'LOG_LEVEL',
      'MODERATION_MODELS',
      'PORT',
      'RATE_LIMIT_RPM',
      'REDIS_URL',
    ]);
  });

  check('names a misspelt variable, which may be the cause', async () => {
    for (const [name, meant, more] of [
      ['MODERATION_APIKEYS', 'MODERATION_API_KEYS', NOWHERE],
      ['BACKEND_API_KEY', 'BACKEND_API_KEYS', { MODERATION_API_KEYS: KEY }],
    ] as const) {
      const { code, stderr } = await gatewayEnd({ ...more, APP_ENV: 'production', [name]: 'canary' });
      assert.is(code, 1);
      assert.is(
        errorTexts(stderr).at(-1),
        `gatehouse gateway: ${name}: warning: this variable has no effect; did you mean ${meant}?`,
      );
      assert.not.match(stderr, 'canary');
    }
  });

  check.thorough('over a category that is none names the nearest that is one', async () => {
    const MODERATION_POLICY_FILE = fileOf(
      'policy.json',
      '{"version":"1","categories":{"harrasment":{"threshold":0.7}}}',
    );
    const { code, stderr } = await gatewayEnd({ ...NOWHERE, MODERATION_API_KEYS: KEY, MODERATION_POLICY_FILE });
    assert.is(code, 1);
    assert.equal(errorTexts(stderr), [
      'gatehouse gateway: MODERATION_POLICY_FILE: categories: unknown name "harrasment", the nearest known one is "harassment"',
    ]);
  });

  check.thorough(
    'over a policy that nobody uses, or an own category with the name of one of the 13, says so',
    async () => {
      const problemOf = async (file: object): Promise<readonly string[]> => {
        const MODERATION_POLICY_FILE = fileOf('policies.json', JSON.stringify({ version: '1', ...file }));
        const { code, stderr } = await gatewayEnd({ ...NOWHERE, MODERATION_API_KEYS: KEY, MODERATION_POLICY_FILE });
        assert.is(code, 1);
        return errorTexts(stderr);
      };
      assert.match(
        (await problemOf({ policies: { idle: {} } })).join(),
        /^gatehouse gateway: MODERATION_POLICY_FILE: policies\.idle: no request is judged by it: name it in use\.default/,
      );
      assert.match(
        (await problemOf({ own_categories: { Violence: { definition: 'x' } } })).join(),
        /^gatehouse gateway: MODERATION_POLICY_FILE: own_categories: "Violence" is OpenAI's category "violence"/,
      );
    },
  );

  check.thorough('over a policy file that is not there, or is none, says so', async () => {
    const files = [join(directory, 'nowhere.json'), fileOf('text.json', 'no JSON'), directory];
    const problems: string[] = [];
    for (const MODERATION_POLICY_FILE of files) {
      const { code, stderr } = await gatewayEnd({ ...NOWHERE, MODERATION_API_KEYS: KEY, MODERATION_POLICY_FILE });
      assert.is(code, 1);
      assert.is(errorTexts(stderr).length, 1, stderr);
      assert.match(stderr, 'gatehouse gateway: MODERATION_POLICY_FILE: expected ');
      assert.not.match(stderr, directory);
      problems.push(stderr);
    }
    assert.match(problems[0] ?? '', 'a file that can be read: no such file or directory');
    assert.match(problems[1] ?? '', 'expected a value at line 1, column 1');
    assert.match(problems[2] ?? '', 'a file that can be read: illegal operation on a directory');
  });

  check('in production without a backend shows the three ways to one', async () => {
    const { code, stderr } = await gatewayEnd({ APP_ENV: 'production', MODERATION_API_KEYS: KEY });
    assert.is(code, 1);
    const lines = errorTexts(stderr);
    assert.is(lines.length, 4, stderr);
    for (const way of ['BACKEND_API_KEYS=', 'BACKEND_BASE_URL=', 'npm run demo']) {
      assert.is(lines.filter((line) => line.includes(way)).length, 1, way);
    }
  });

  check.thorough('in production without a key names the variable', async () => {
    const { code, stderr } = await gatewayEnd({ ...NOWHERE, APP_ENV: 'production' });
    assert.is(code, 1);
    assert.equal(errorTexts(stderr), [
      'gatehouse gateway: MODERATION_API_KEYS: expected at least one gateway key when APP_ENV is production',
    ]);
  });

  check.thorough('on a Node that is too old says so in one line, whichever program it is', async () => {
    const pretend = {
      command: process.execPath,
      flags: ['--import', `data:text/javascript,${PRETEND}`],
      version: '22.14.0',
    };
    const old = oldNode();
    const real =
      old === undefined
        ? []
        : [
            {
              command: old,
              flags: [],
              version: spawnSync(old, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim(),
            },
          ];
    for (const { command, flags, version } of [pretend, ...real]) {
      for (const name of NODE_BUNDLES) {
        const running = start(command, [...flags, bundle(name)]);
        const { code } = await running.ended;
        assert.is(code, 1, name);
        const hint =
          'In a clone, "npx node" runs the one that npm ci has brought. Otherwise install Node 22.15 or newer.';
        const line = `gatehouse needs Node 22.15 or newer, and this is ${version}. ${hint}\n`;
        assert.is(running.stderr(), line, name);
      }
    }
  });
});

describe('a start of the Node bundle that succeeds', (check) => {
  check('in development without a key makes one for the run, shows it once, and it works', async () => {
    await withGateway({ variables: { MODERATION_API_KEYS: '' } }, async ({ gateway }) => {
      const [, key = ''] = await gateway.outputMatching(/the key of this run is (\S+)/);
      const asked = { authorization: `Bearer ${key}` };
      assert.is((await moderate(gateway.address, { input: 'good morning' }, asked)).status, 200);
      assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 401);
      assert.is(gateway.stderr().split(key).length, 2);
      assert.is(gateway.stdout(), '');
    });
  });

  check('takes variables that are empty for not set, as compose files leave them', async () => {
    const empty = Object.fromEntries(
      [
        'APP_ENV',
        'LOG_LEVEL',
        'BACKEND_API_KEYS',
        'REDIS_URL',
        'HTTPS_PROXY',
        'HTTP_PROXY',
        'MODERATION_POLICY_FILE',
      ].map((name) => [name, '']),
    );
    await withGateway({ variables: empty }, async ({ gateway }) => {
      assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
    });
  });

  check('judges a key by the policy that its SHA-256 has in the file', async () => {
    const keys = { [hash('sha256', KEY).slice(0, 12)]: 'mild' };
    const policies = { mild: { own_categories: { 'weapon sales': { definition: 'offers weapons.' } } } };
    const MODERATION_POLICY_FILE = fileOf('keys.json', JSON.stringify({ version: '1', policies, use: { keys } }));
    await withGateway({ variables: { MODERATION_POLICY_FILE } }, async ({ gateway }) => {
      const answer = await moderate(gateway.address, { input: 'good morning' });
      assert.is(answer.headers.get('x-moderation-policy'), 'mild/1');
      assert.match(answer.text, '"x_categories":{"weapon sales":{"flagged":false,"score":0}}');
    });
  });

  check.thorough('judges by the policy file it was given', async () => {
    const MODERATION_POLICY_FILE = fileOf(
      'mild.json',
      '{"version":"mild-1","categories":{"harassment":{"threshold":0.3}}}',
    );
    await withGateway({ variables: { MODERATION_POLICY_FILE } }, async ({ gateway }) => {
      const answer = await moderate(gateway.address, { input: 'shut up' });
      assert.is(answer.headers.get('x-moderation-policy'), 'mild-1');
      assert.match(answer.text, '"flagged":true');
    });
  });
});
