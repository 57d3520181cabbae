import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { bundle, run, type Variables } from '../processes.ts';
import { CHANGING_CALLS, type NamedCall, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld, KEY, keyNumber, until } from './world.ts';

const ALL_CALLS: readonly NamedCall[] = [
  ...READING_CALLS,
  ...CHANGING_CALLS,
  ['recharge', { preview_token: 'rp1', idempotency_key: keyNumber(1) }],
];
const WITHOUT_KEY = new Set(['describe', 'health', 'model_control_options']);

/** Tells again and again, on standard error, what any code in the process finds in its environment. */
const SPY = `data:text/javascript,${encodeURIComponent(
  "setInterval(() => process.stderr.write('spy ' + JSON.stringify(process.env) + ' spied\\n'), 20);",
)}`;

const startUp = (variables: Variables) => run(process.execPath, [bundle('relay-admin.js')], { variables });

describe('the environment of the relay admin bundle', (check) => {
  check(
    'holds the key no longer once it has started',
    inWorld(async ({ start }) => {
      const admin = start({ flags: ['--import', SPY], variables: { OPENAI_API_KEY: 'canary-openai' } });
      await admin.initialize();
      await admin.outputMatching(/"event":"listening"/);
      const before = admin.stderr().length;
      await admin.call('read', { path: 'users' });
      await until('the spy has told again', () => admin.stderr().slice(before).split(' spied\n').length > 2);
      const spied =
        admin
          .stderr()
          .slice(before)
          .split('\n')
          .findLast((line) => line.endsWith(' spied')) ?? '';
      // The spy does see: everything else is where it was.
      assert.match(spied, '"OPENAI_API_KEY":"canary-openai"');
      assert.match(spied, '"RELAY_BASE_URL"');
      assert.not.match(spied, 'RELAY_ADMIN_API_KEY');
      assert.not.match(spied, KEY);
    }),
  );

  check.thorough(
    'is reported nowhere: not the key, and nothing of what is not ours',
    inWorld(async ({ start, journalText }) => {
      const unknownNames = {
        OPENAI_API_KEY: 'canary-openai',
        HTTP_PROXY: 'http://canary-proxy.example:1',
        AWS_SECRET: 'canary-aws',
      };
      const admin = start({ variables: { LOG_LEVEL: 'debug', ...unknownNames } });
      await admin.initialize();
      for (const [tool, given] of ALL_CALLS) await admin.call(tool, given);
      await admin.endInput();
      const all = admin.lines().join('\n') + admin.stderr() + journalText();
      assert.not.match(all, /canary-/);
      assert.not.match(all, KEY);
    }),
  );

  check(
    'without a key, or with one that is none, leaves the tools that need none',
    inWorld(async ({ start, control }) => {
      for (const key of ['', '  ', 'admin-123', `${KEY},${KEY}`, `Bearer ${KEY}`]) {
        const admin = start({ variables: { RELAY_ADMIN_API_KEY: key } });
        for (const [tool, given] of ALL_CALLS) {
          const { isError, content, structuredContent } = await admin.call(tool, given);
          if (WITHOUT_KEY.has(tool)) assert.is(isError, undefined, tool);
          else
            assert.match(
              content[0]?.text ?? '',
              tool === 'recharge' ? /^(?:NO_ADMIN_KEY|CONFIRM_TOKEN_UNKNOWN): / : /^NO_ADMIN_KEY: /,
            );
          if (tool === 'describe')
            assert.equal(structuredContent?.admin_key, { present: key.trim() !== '', well_formed: false });
        }
        assert.match(admin.stderr(), '"setting":"RELAY_ADMIN_API_KEY"');
        await admin.endInput();
        if (key.trim() !== '') assert.not.match(admin.stderr() + admin.lines().join('\n'), key.trim());
      }
      assert.equal(
        [...new Set(control.requests().map(({ method, target }) => `${method} ${target}`))],
        ['GET /health', 'GET /api/v1/settings/public'],
      );
    }),
  );
});

const GOOD = { RELAY_BASE_URL: 'http://127.0.0.1:9', RELAY_ALLOWED_HOST: '127.0.0.1' };

describe('starting the relay admin bundle', (check) => {
  check(
    'reports every problem of the settings at once, names what is expected, quotes nothing, and ends with 1',
    async () => {
      const { code, stdout, stderr } = await startUp({
        RELAY_BASE_URL: 'ftp://canary-user:canary-password@relay.example',
        RELAY_ALLOWED_HOST: 'canary-host',
        RELAY_ADMIN_API_KEY: 'canary-key',
        RELAY_TIMEOUT_MS: 'canary-timeout',
        RELAY_MAX_RECHARGE: '-canary',
        RELAY_READ_ONLY: 'canary-yes',
        LOG_LEVEL: 'canary-loud',
      });
      assert.equal([code, stdout], [1, '']);
      const lines = stderr.trimEnd().split('\n');
      for (const name of ['RELAY_BASE_URL', 'RELAY_TIMEOUT_MS', 'RELAY_MAX_RECHARGE', 'RELAY_READ_ONLY', 'LOG_LEVEL'])
        assert.is(
          lines.filter((line) => line.startsWith(`gatehouse relay-admin: ${name}: `) && /expected/.test(line)).length,
          1,
          name,
        );
      assert.is(lines.length, 5);
      assert.not.match(stderr, 'canary');
    },
  );

  check.thorough('does not happen with an address that could lead elsewhere', async () => {
    const wrong: readonly Variables[] = [
      {},
      { RELAY_BASE_URL: GOOD.RELAY_BASE_URL },
      { RELAY_ALLOWED_HOST: GOOD.RELAY_ALLOWED_HOST },
      { ...GOOD, RELAY_ALLOWED_HOST: 'localhost' },
      { ...GOOD, RELAY_ALLOWED_HOST: '127.0.0.1:9' },
      { ...GOOD, RELAY_BASE_URL: 'http://127.1:9' },
      { ...GOOD, RELAY_BASE_URL: 'http://127.0.0.1:9/?x' },
      { RELAY_BASE_URL: 'http://relay.example', RELAY_ALLOWED_HOST: 'relay.example' },
      { RELAY_BASE_URL: 'http://relay@127.0.0.1', RELAY_ALLOWED_HOST: '127.0.0.1' },
    ];
    for (const variables of wrong) {
      const { code, stdout, stderr } = await startUp(variables);
      assert.equal([code, stdout], [1, ''], JSON.stringify(variables));
      assert.match(stderr, /^gatehouse relay-admin: RELAY_(?:BASE_URL|ALLOWED_HOST): /);
    }
  });

  check('does not happen with a misspelt setting, and names the nearest that there is', async () => {
    const { code, stderr } = await startUp({ ...GOOD, RELAY_READONLY: 'canary', RELAY_TIMEOUT: 'canary' });
    assert.is(code, 1);
    assert.match(
      stderr,
      'gatehouse relay-admin: RELAY_READONLY: this variable has no effect; did you mean RELAY_READ_ONLY?',
    );
    assert.match(stderr, 'RELAY_TIMEOUT: this variable has no effect; did you mean RELAY_TIMEOUT_MS?');
    assert.not.match(stderr, 'canary');
  });

  check('warns of a misspelt LOG_LEVEL', async () => {
    const { code, stderr } = await startUp({ ...GOOD, LOG_LEVL: 'canary' });
    assert.is(code, 0);
    assert.match(stderr, /"level":"warn".*"setting":"LOG_LEVL","reason":"[^"]*LOG_LEVEL"/);
    assert.not.match(stderr, 'canary');
  });

  check(
    'sends no request but the three about its key, and writes nothing until a tool has to',
    inWorld(async ({ start, control, journal, askedAboutKey }) => {
      const admin = start();
      await admin.initialize();
      await admin.outputMatching(/"event":"admin-key","state":"accepted"/);
      assert.equal(
        askedAboutKey().map(({ method, target }) => [method, target.split('/').at(-1)?.split('?')[0]]),
        ['users', 'accounts', 'groups'].map((list) => ['GET', list]),
      );
      await admin.ask('tools/list');
      await admin.call('describe');
      await admin.call('read', { path: 'users' });
      assert.equal([control.requests().length, existsSync(journal)], [1, false]);
      const { level, service, version } = admin.events()[0] ?? {};
      assert.equal([level, service, typeof version], ['info', 'relay-admin', 'string']);
    }),
  );

  check.thorough(
    'works through a link, from a directory of its own, with nothing else in the environment',
    inWorld(async ({ start, directory }) => {
      const link = join(directory, 'relay-admin');
      symlinkSync(bundle('relay-admin.js'), link);
      const admin = start({ command: process.execPath, words: [link] });
      assert.is((await admin.call('read', { path: 'users' })).isError, undefined);
    }),
  );
});

describe('gatehouse relay-admin', (check) => {
  check('explains itself, takes no arguments, and is reported by gatehouse', async () => {
    const gatehouse = (...words: readonly string[]) => run(process.execPath, [bundle('gatehouse.js'), ...words]);
    const help = await gatehouse('relay-admin', '--help');
    assert.equal([help.code, help.stderr], [0, '']);
    for (const name of [
      'RELAY_BASE_URL',
      'RELAY_ALLOWED_HOST',
      'RELAY_ADMIN_API_KEY',
      'RELAY_MAX_RECHARGE',
      'RELAY_TIMEOUT_MS',
      'RELAY_JOURNAL',
      'RELAY_READ_ONLY',
    ])
      assert.match(help.stdout, name);
    assert.match((await gatehouse('--help')).stdout, 'relay-admin');
    for (const words of [['--read-only'], ['users'], ['canary-word', '--port', '1']]) {
      const { code, stdout, stderr } = await gatehouse('relay-admin', ...words);
      assert.equal([code, stdout], [1, '']);
      assert.match(stderr, /^gatehouse relay-admin: expected no arguments, only environment variables/);
      assert.not.match(stderr, 'canary');
    }
  });

  check(
    'serves, and writes nothing but the protocol',
    inWorld(async ({ start }) => {
      const admin = start({ command: process.execPath, words: [bundle('gatehouse.js'), 'relay-admin'] });
      await admin.initialize();
      const { tools } = ((await admin.ask('tools/list')).result ?? {}) as { tools?: { name: string }[] };
      assert.equal(
        tools?.map(({ name }) => name),
        [...TOOLS],
      );
      assert.is((await admin.call('find_user', { email: 'alice@example.com' })).isError, undefined);
      const { code } = await admin.endInput();
      assert.is(code, 0);
      for (const line of admin.lines()) assert.is((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0');
    }),
  );
});
