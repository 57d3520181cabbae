import * as assert from 'uvu/assert';
import {
  formatPasswordHash,
  hashPassword,
  keyOfPassword,
  parsePasswordHash,
} from '../../src/console/accounts/password-hash.ts';
import { parseUsers } from '../../src/console/accounts/users.ts';
import { deriveScryptKey } from '../../src/console/adapter/scrypt.ts';
import { readConsoleSettings, startNotices, unknownConsoleVariables } from '../../src/console/settings.ts';
import type { Variables } from '../../src/core/config.ts';
import { describe } from '../check.ts';
import { hashText, USERS } from './harness/world.ts';

const problemsOf = (variables: Variables): string => {
  try {
    readConsoleSettings(variables);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the settings of the console', (check) => {
  check('may all be missing: then this machine alone is let in', () => {
    const { host, port, way, users, notify, isLocalWithoutUsers } = readConsoleSettings({});
    assert.equal(
      [host, port, way, users, notify, isLocalWithoutUsers],
      ['127.0.0.1', 4200, { kind: 'none' }, [], undefined, true],
    );
    assert.is(readConsoleSettings({ CONSOLE_USERS: USERS }).host, '0.0.0.0');
  });

  check('let nobody in from elsewhere without accounts, and trust no header there', () => {
    for (const HOST of ['0.0.0.0', '::', '10.0.0.1', 'console.example']) {
      assert.match(problemsOf({ HOST }), /^CONSOLE_USERS: expected at least one user with a hash when HOST/);
      const trusting = { HOST, CONSOLE_TRUST_HEADER: 'x-forwarded-user', CONSOLE_USERS: 'ann:admin' };
      assert.match(problemsOf(trusting), /^CONSOLE_TRUST_HEADER: expected HOST to be this machine alone/);
    }
    for (const HOST of ['127.0.0.1', 'localhost', '::1']) assert.is(problemsOf({ HOST }), '');
    assert.match(
      problemsOf({ CONSOLE_TRUST_HEADER: 'x-user' }),
      'CONSOLE_TRUST_HEADER: expected the roles of the names',
    );
    assert.is(problemsOf({ CONSOLE_TRUST_HEADER: 'x-user', CONSOLE_USERS: 'ann:admin,*:viewer' }), '');
    // Else a name without a hash, or any name, could be thought to be let in by password.
    for (const CONSOLE_USERS of ['ann:admin', `${USERS},*:viewer`])
      assert.match(problemsOf({ CONSOLE_USERS }), 'CONSOLE_USERS: expected a hash for every user');
  });

  check('take an address that ends in /v1 where the console adds that itself', () => {
    for (const end of ['', '/', '/v1', '/v1/']) {
      const { gateway, bridge, agents } = readConsoleSettings({
        CONSOLE_GATEWAY_URL: `http://gateway/behind${end}`,
        CONSOLE_BRIDGE_URL: `http://bridge:4100${end}`,
        CONSOLE_AGENT_URLS: 'http://agent/v1/',
      });
      assert.equal([gateway.url, bridge.url], ['http://gateway/behind', 'http://bridge:4100'], end);
      assert.equal(agents.urls, ['http://agent/v1']);
    }
  });

  check('say at the start what ends with the process, and who is let in', () => {
    const told = (variables: Variables) => startNotices(readConsoleSettings(variables)).map(({ event }) => event);
    const withUsers = { CONSOLE_USERS: USERS, CONSOLE_SECRET: 's'.repeat(32) };
    assert.equal(told({}), ['secret-made', 'this-machine-only']);
    assert.equal(told({ CONSOLE_USERS: USERS }), ['secret-made']);
    assert.equal(told(withUsers), ['logouts-in-memory']);
    assert.equal(told({ ...withUsers, CONSOLE_DATA_DIRECTORY: './data/console' }), []);
    // Their proxy logs them out.
    assert.equal(told({ ...withUsers, HOST: '127.0.0.1', CONSOLE_TRUST_HEADER: 'x-user' }), []);
  });

  check('are refused with all that is wrong at once, and without a value', () => {
    const text = problemsOf({
      PORT: 'canary',
      CONSOLE_USERS: 'ann:canary:x',
      CONSOLE_SECRET: 'canary',
      CONSOLE_GATEWAY_URL: 'canary',
      CONSOLE_AGENT_URLS: 'http://a,canary',
      CONSOLE_NOTIFY_URL: 'ftp://canary',
      CONSOLE_NOTIFY_FORMAT: 'canary',
      CONSOLE_TRUST_HEADER: 'ca nary',
    });
    assert.is(text.split('\n').length, 8);
    assert.not.match(text, 'canary');
    assert.match(problemsOf({ CONSOLE_NOTIFY_URL: 'https://hook.example' }), /^CONSOLE_PUBLIC_URL: is required/);
    const ntfy = { CONSOLE_NOTIFY_FORMAT: 'ntfy', CONSOLE_PUBLIC_URL: 'https://console.example' };
    for (const path of ['', '/', '/a%zz', '/a b', `/${'a'.repeat(65)}`])
      assert.match(
        problemsOf({ ...ntfy, CONSOLE_NOTIFY_URL: `https://ntfy.sh${path}` }),
        /^CONSOLE_NOTIFY_URL: expected a topic at its end/,
      );
    assert.is(problemsOf({ ...ntfy, CONSOLE_NOTIFY_URL: 'https://ntfy.sh/below/my-topic' }), '');
    assert.is(unknownConsoleVariables({ CONSOLE_USER: 'x' }).get('CONSOLE_USER'), 'CONSOLE_USERS');
  });

  check('take users as a list or as JSON, each name once', async () => {
    const hash = await hashText('x');
    for (const text of [
      `ann:admin:${hash}, bob:viewer:${hash}`,
      JSON.stringify([
        { name: 'ann', role: 'admin', hash },
        { name: 'bob', role: 'viewer', hash },
      ]),
    ])
      assert.equal(
        parseUsers(text)?.map(({ name, role }) => `${name} ${role}`),
        ['ann admin', 'bob viewer'],
      );
    for (const text of [
      `ann:admin:${hash},ann:viewer:${hash}`,
      'ann',
      'ann:root:x',
      `:admin:${hash}`,
      'ann:admin:x:y',
      `a b:admin:${hash}`,
      // What agent servers keep for a client without a name.
      `unknown:admin:${hash}`,
      '[{}]',
      '[',
    ])
      assert.is(parseUsers(text), undefined, text);
  });
});

describe('the hash of a password', (check) => {
  check('is scrypt, fits its password alone, and says what it costs', async () => {
    const hash = await hashPassword('pass\u0065\u0301', 'c2FsdHNhbHRzYWx0c2FsdA', deriveScryptKey);
    const text = formatPasswordHash(hash);
    assert.match(text, /^scrypt\.16384\.8\.5\.c2FsdHNhbHRzYWx0c2FsdA\.[\w-]{43}$/);
    // Neither compose nor the list of users would take it apart.
    assert.not.match(text, /[$:,]/);
    const read = parsePasswordHash(text);
    assert.equal(read, hash);
    assert.is(await keyOfPassword('pass\u00e9', hash, deriveScryptKey), hash.key);
    assert.is.not(await keyOfPassword('passe', hash, deriveScryptKey), hash.key);
  });

  check('is not taken with a cost that is no protection, or that would stop the console', async () => {
    const [, ...rest] = (await hashText('x')).split('.');
    const [, , , salt, key] = rest;
    for (const cost of ['2.8.1', '16383.8.1', '1048576.8.1', '16384.0.1', '16384.8.99', '16384.64.1'])
      assert.is(parsePasswordHash(`scrypt.${cost}.${salt}.${key}`), undefined, cost);
    for (const cost of ['1024.8.1', '131072.8.1']) assert.ok(parsePasswordHash(`scrypt.${cost}.${salt}.${key}`), cost);
  });
});
