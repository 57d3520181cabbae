import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { describe, rejection } from '../../../check.ts';
import { BASE_URL, CANARY } from '../../../llm/scripted-client.ts';
import { afterAll, get, NEVER, ok, problemOf, relayWorld, SECRET, WRITE } from './world.ts';

describe('a read of the relay', (check) => {
  check('is a GET below the admin prefix with the key in one header', async () => {
    const { relay, calls } = relayWorld([ok({ id: 7 })]);
    assert.equal(await get(relay), { id: 7 });
    const [{ sent } = { sent: undefined }] = calls;
    assert.is(sent?.method, 'GET');
    assert.is(sent?.url, `${BASE_URL}/api/v1/admin/users/7`);
    assert.equal(sent?.headers, {
      'user-agent': 'gatehouse-relay-admin/1.2.3',
      accept: 'application/json',
      'x-api-key': SECRET,
    });
    assert.is(sent!.body, undefined);
  });

  check('writes its query out in order, whatever is in it', async () => {
    const { relay, calls } = relayWorld([ok(1), ok(2)]);
    await get(relay, 'users', { search: 'a+b@x.test&role=admin#?/../', page: 2, isActive: true, empty: '' });
    await get(relay, 'users', { search: '\r\nx-evil: 1\u0000', ' a=b&c': 'ü' });
    assert.is(
      calls[0]?.sent.url,
      `${BASE_URL}/api/v1/admin/users?search=a%2Bb%40x.test%26role%3Dadmin%23%3F%2F..%2F&page=2&isActive=true&empty=`,
    );
    assert.is(calls[1]?.sent.url, `${BASE_URL}/api/v1/admin/users?search=%0D%0Ax-evil%3A+1%00&+a%3Db%26c=%C3%BC`);
  });

  check('answers with the data, also when there is none', async () => {
    const { relay } = relayWorld([ok([]), ok(null), { text: '{"code":0}' }]);
    assert.equal([await get(relay), await get(relay), await get(relay)], [[], null, undefined]);
  });

  check('bounds the answer it takes', async () => {
    const { relay, calls } = relayWorld([ok(1)]);
    await get(relay);
    assert.is(calls[0]?.sent.limitBytes, 4 * 1024 * 1024);
  });
});

describe('a path', (check) => {
  const STRAYS = [
    '',
    '/',
    '/users',
    'users/',
    'users//7',
    '//evil.test/x',
    'https://evil.test/x',
    '../settings',
    'users/../settings',
    'users/./7',
    'users/..',
    '.',
    '..',
    '%2e%2e/settings',
    'users/1%2Fapi-keys',
    'users/7?x=1',
    'users/7#x',
    'users/7;x',
    'users\\7',
    '\\\\evil.test\\x',
    'users/7\n',
    'users/7\t',
    '\nusers/7',
    'users/ 7',
    'users/７',
    'users/7\u0000',
    'users/7@evil.test',
    ':8080/users',
    '@evil.test/users',
    'Users/7',
    'users/NaN',
    'users/Infinity',
    'users/1e+21',
    'users/7.5',
    'users/{id}',
  ];

  for (const path of STRAYS) {
    check(`that is no template is not sent: ${JSON.stringify(path)}`, async () => {
      const { relay, calls, gate, clock } = relayWorld(() => ok(1));
      for (const attempt of [get(relay, path), relay.send({ ...WRITE, path }, NEVER)]) {
        const error = await rejection(attempt);
        assert.instance(error, Error);
        assert.not.instance(error, RelayError);
      }
      assert.is(calls.length, 0);
      assert.is(gate.running(), 0);
      assert.is(clock.pending(), 0);
    });
  }
});

describe('the key', (check) => {
  for (const kind of ['missing', 'malformed'] as const) {
    check(`that is ${kind} stops reads and changes, and nothing is sent`, async () => {
      const { relay, calls, gate } = relayWorld(() => ok(1), { key: { kind } });
      const expected = { kind: 'no-admin-key', isMalformed: kind === 'malformed' };
      assert.equal(await problemOf(get(relay)), expected);
      assert.equal(await problemOf(relay.send(WRITE, NEVER)), expected);
      assert.is(calls.length, 0);
      assert.is(gate.running(), 0);
    });
    check(`that is ${kind} does not stop the look at health`, async () => {
      const { relay } = relayWorld([{ text: 'ok' }], { key: { kind } });
      assert.is((await relay.health(NEVER)).text, 'ok');
    });
  }

  check('never goes to health, which is asked as it is', async () => {
    const { relay, calls } = relayWorld([{ status: 503, text: 'down', headers: { 'retry-after': '1' } }]);
    const received = await relay.health(NEVER);
    assert.equal([received.status, received.text, received.header('retry-after')], [503, 'down', '1']);
    const [{ sent } = { sent: undefined }] = calls;
    assert.equal([sent?.method, sent?.url, sent?.limitBytes], ['GET', `${BASE_URL}/health`, 64 * 1024]);
    assert.equal(sent?.headers, { 'user-agent': 'gatehouse-relay-admin/1.2.3', accept: 'application/json' });
    assert.not.match(JSON.stringify(calls), SECRET);
  });

  check('and what the relay says are in no problem', async () => {
    const outputText = `${SECRET} ${CANARY}`;
    const bodies = [
      outputText,
      JSON.stringify({ code: outputText, reason: outputText, message: outputText }),
      `<html>${outputText}`,
    ];
    for (const text of bodies) {
      for (const status of [200, 302, 304, 400, 401, 403, 404, 418, 423, 429, 500, 503]) {
        const detail = await afterAll(
          relayWorld(() => ({
            status,
            text,
            headers: { location: outputText, 'retry-after': outputText, server: outputText },
          })),
        );
        assert.not.match(JSON.stringify(detail), /admin-|tr0ub4dor/);
      }
    }
  });
});
