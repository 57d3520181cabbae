import * as assert from 'uvu/assert';
import { createDeadline } from '../../../src/core/async.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createSemaphore, type Semaphore } from '../../../src/core/semaphore.ts';
import { RelayError, type RelayErrorDetail } from '../../../src/relay-admin/errors/errors.ts';
import {
  createRelayClient,
  type RelayClient,
  type RelayQuery,
  type Write,
} from '../../../src/relay-admin/relay/client.ts';
import type { WriteAnswer } from '../../../src/relay-admin/relay/response.ts';
import type { AdminKey } from '../../../src/relay-admin/settings.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  type Answer,
  BASE_URL,
  CANARY,
  createScriptedExchange,
  reset,
  type Script,
} from '../../llm/scripted-client.ts';

const SECRET = `admin-${'a'.repeat(64)}`;
const ADDRESS = { origin: BASE_URL, host: 'backend.test' };
const NEVER = new AbortController().signal;

type Changes = { readonly key?: AdminKey; readonly gate?: Semaphore };

const relayWorld = (script: Script, { key = { kind: 'present', secret: SECRET }, gate }: Changes = {}) => {
  const clock = createFakeClock();
  const { httpClient, calls } = createScriptedExchange(script);
  const places = gate ?? createSemaphore(8, 100);
  const relay: RelayClient = createRelayClient({
    address: ADDRESS,
    key,
    httpClient,
    clock,
    gate: places,
    version: '1.2.3',
  });
  return { relay, clock, calls, gate: places };
};
const ok = (data: unknown): Answer => ({ text: JSON.stringify({ code: 0, message: 'success', data }) });
const get = (relay: RelayClient, path = 'users/7', query: RelayQuery = {}) => relay.get(path, query, NEVER);

const detailOf = (error: unknown): RelayErrorDetail => {
  if (error instanceof RelayError) return error.detail;
  throw error instanceof Error ? error : new Error('no problem');
};
const problemOf = async (promise: Promise<unknown>): Promise<RelayErrorDetail> => detailOf(await rejection(promise));

/** What a read comes to, with all the time it takes. */
const afterAll = async ({ clock, relay }: ReturnType<typeof relayWorld>): Promise<RelayErrorDetail> => {
  const problem = problemOf(get(relay));
  await clock.advance(60_000);
  return problem;
};

const WRITE: Write = { method: 'POST', path: 'users/7/balance', body: '{"balance":12.50}', idempotencyKey: 'key-1' };

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
    assert.is(sent?.body, undefined);
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

/** What a read comes to, by what it was answered with, and how often it was then sent. */
const OUTCOMES: readonly (readonly [string, Answer | Error, RelayErrorDetail, number])[] = [
  ['204', { status: 204 }, { kind: 'upstream-contract', why: 'not-json' }, 1],
  ['201 with an envelope', { status: 201, ...ok(1) }, { kind: 'upstream-contract', why: 'unexpected-shape' }, 1],
  ['200 and nothing', {}, { kind: 'upstream-contract', why: 'not-json' }, 1],
  ['200 and a page', { text: '<!doctype html>' }, { kind: 'upstream-contract', why: 'not-json' }, 1],
  ['200 and half an answer', { text: '{"code":0,"data":' }, { kind: 'upstream-contract', why: 'not-json' }, 1],
  ['200 and another shape', { text: '{"data":1}' }, { kind: 'upstream-contract', why: 'unexpected-shape' }, 1],
  ['200 and a refusal', { text: '{"code":500}' }, { kind: 'upstream-contract', why: 'unexpected-shape' }, 1],
  ...[300, 301, 302, 303, 307, 308].map(
    (status) =>
      [
        `${status}`,
        { status, headers: { location: 'https://evil.test/' }, ...ok(1) },
        { kind: 'upstream-redirect' },
        1,
      ] as const,
  ),
  ['304', { status: 304 }, { kind: 'upstream-contract', why: 'not-json' }, 1],
  ['400', { status: 400 }, { kind: 'upstream-refused', status: 400 }, 1],
  ['401', { status: 401 }, { kind: 'upstream-auth' }, 1],
  ['403', { status: 403 }, { kind: 'upstream-auth' }, 1],
  ['404', { status: 404 }, { kind: 'not-found', what: 'resource' }, 1],
  ['405', { status: 405 }, { kind: 'upstream-refused', status: 405 }, 1],
  ['409', { status: 409 }, { kind: 'upstream-refused', status: 409 }, 1],
  ['421', { status: 421 }, { kind: 'upstream-refused', status: 421 }, 1],
  ['423', { status: 423 }, { kind: 'terms-not-accepted' }, 1],
  ['429', { status: 429 }, { kind: 'upstream-rate-limit', retryAfterMs: 10_000 }, 1],
  [
    '429 and a long wait',
    { status: 429, headers: { 'retry-after': '4' } },
    { kind: 'upstream-rate-limit', retryAfterMs: 4000 },
    1,
  ],
  [
    '429 and a wait that is none',
    { status: 429, headers: { 'retry-after': '-1' } },
    { kind: 'upstream-rate-limit', retryAfterMs: 10_000 },
    1,
  ],
  [
    '429 and a short wait, twice',
    { status: 429, headers: { 'retry-after': '3' } },
    { kind: 'upstream-rate-limit', retryAfterMs: 3000 },
    2,
  ],
  ...[500, 502, 503, 504, 530].map(
    (status) =>
      [`${status}, twice`, { status, ...ok(1) }, { kind: 'upstream-unavailable', why: `status ${status}` }, 2] as const,
  ),
  ['a reset, twice', reset(), { kind: 'upstream-unavailable', why: 'ECONNRESET' }, 2],
  ['no connection, twice', reset('ECONNREFUSED'), { kind: 'upstream-unavailable', why: 'ECONNREFUSED' }, 2],
  ['too much', reset('ANSWER_TOO_LARGE'), { kind: 'upstream-contract', why: 'too-large' }, 1],
];

describe('a read that is answered with', (check) => {
  for (const [what, answer, expected, times] of OUTCOMES) {
    check(`${what} is the problem ${expected.kind}, after ${times === 1 ? 'one try' : 'two tries'}`, async () => {
      const world = relayWorld(() => answer);
      assert.equal(await afterAll(world), expected);
      assert.is(world.calls.length, times);
      assert.is(world.gate.running(), 0);
      assert.is(world.clock.pending(), 0);
    });
  }

  check('something unheard of is left as it is, and not tried again', async () => {
    const bug = new TypeError('a bug');
    const { relay, calls, gate } = relayWorld([bug]);
    assert.is(await rejection(get(relay)), bug);
    assert.is(calls.length, 1);
    assert.is(gate.running(), 0);
  });
});

describe('the second try of a read', (check) => {
  check('may succeed where the first did not', async () => {
    for (const first of [{ status: 503 }, { status: 500 }, reset(), reset('ECONNREFUSED')]) {
      const { relay, clock, calls } = relayWorld([first, ok({ id: 7 })]);
      const answer = get(relay);
      await clock.advance(299);
      assert.is(calls.length, 1);
      await clock.advance(1);
      assert.equal(await answer, { id: 7 });
      assert.equal(calls[1]?.sent.url, calls[0]?.sent.url);
    }
  });

  for (const status of [429, 503]) {
    check(`waits for as long as a short Retry-After asks beside a ${status}`, async () => {
      const { relay, clock, calls } = relayWorld([{ status, headers: { 'retry-after': '2' } }, ok(1)]);
      const answer = get(relay);
      await clock.advance(1999);
      assert.is(calls.length, 1);
      await clock.advance(1);
      assert.is(await answer, 1);
    });

    check(`leaves a longer Retry-After beside a ${status} to anyone who called`, async () => {
      const { relay, calls } = relayWorld([{ status, headers: { 'retry-after': '7' } }, ok(1)]);
      assert.is(((await problemOf(get(relay))) as { retryAfterMs?: number }).retryAfterMs, 7000);
      assert.is(calls.length, 1);
    });
  }

  check('reports its own problem', async () => {
    const { relay, clock } = relayWorld([{ status: 503 }, { status: 404 }]);
    const problem = problemOf(get(relay));
    await clock.advance(300);
    assert.equal(await problem, { kind: 'not-found', what: 'resource' });
  });

  check('holds no place of the gate while it waits', async () => {
    const { relay, clock, gate } = relayWorld([{ status: 503 }, ok(1)], { gate: createSemaphore(1, 0) });
    const answer = get(relay);
    await clock.advance(100);
    assert.is(gate.running(), 0);
    await clock.advance(200);
    assert.is(await answer, 1);
  });

  check('is dropped as soon as the caller leaves', async () => {
    const { relay, clock, calls } = relayWorld([{ status: 503 }]);
    const caller = new AbortController();
    const answer = relay.get('users/7', {}, caller.signal);
    await clock.advance(100);
    const reason = new Fault({ kind: 'client-left' });
    caller.abort(reason);
    assert.is(await rejection(answer), reason);
    assert.is(clock.pending(), 0);
    assert.is(calls.length, 1);
  });

  check('is not waited for when the caller left before the first was over', async () => {
    const caller = new AbortController();
    const reason = new Fault({ kind: 'client-left' });
    const clock = createFakeClock();
    const relay = createRelayClient({
      address: ADDRESS,
      key: { kind: 'present', secret: SECRET },
      clock,
      gate: createSemaphore(1, 1),
      version: '0',
      // One that does not listen to its signal.
      httpClient: async () => {
        caller.abort(reason);
        return { status: 503, text: '', header: () => null };
      },
    });
    assert.is(await rejection(relay.get('users/7', {}, caller.signal)), reason);
    assert.is(clock.pending(), 0);
  });
});

describe('the gate', (check) => {
  check('that is full makes a read and a look at health busy, and nothing is sent', async () => {
    const { relay, calls } = relayWorld(() => 'silence', { gate: createSemaphore(1, 0) });
    const caller = new AbortController();
    const first = rejection(relay.get('users/7', {}, caller.signal));
    assert.equal(await problemOf(get(relay)), { kind: 'busy' });
    assert.equal(await problemOf(relay.health(NEVER)), { kind: 'busy' });
    assert.is(calls.length, 1);
    caller.abort(new Fault({ kind: 'client-left' }));
    await first;
  });

  check('lets a change past: what was confirmed does not wait behind reads', async () => {
    const { relay } = relayWorld((sent) => (sent.method === 'GET' ? 'silence' : ok({ id: 7 })), {
      gate: createSemaphore(1, 0),
    });
    const caller = new AbortController();
    const first = rejection(relay.get('users/7', {}, caller.signal));
    assert.is((await relay.send(WRITE, NEVER)).kind, 'accepted');
    caller.abort(new Fault({ kind: 'client-left' }));
    await first;
  });

  check('gets its place back whatever becomes of a read', async () => {
    const gate = createSemaphore(1, 0);
    for (const step of [ok(1), { status: 404 }, { status: 302 }, reset('ANSWER_TOO_LARGE'), new TypeError('bug')]) {
      const { relay } = relayWorld([step], { gate });
      await get(relay).catch(() => {});
      assert.is(gate.running(), 0);
    }
  });

  check('keeps no one in line who has left', async () => {
    const gate = createSemaphore(1, 5);
    const { relay } = relayWorld(() => 'silence', { gate });
    const [first, second] = [new AbortController(), new AbortController()];
    const [running, queued] = [first, second].map(({ signal }) => rejection(relay.get('users/7', {}, signal)));
    assert.is(gate.waiting(), 1);
    second.abort(new Fault({ kind: 'client-left' }));
    await queued;
    assert.equal([gate.running(), gate.waiting()], [1, 0]);
    first.abort(new Fault({ kind: 'client-left' }));
    await running;
    assert.is(gate.running(), 0);
  });
});

describe('a caller', (check) => {
  check('that has left is not asked for', async () => {
    const { relay, calls } = relayWorld(() => ok(1));
    const reason = new Fault({ kind: 'client-left' });
    assert.is(await rejection(relay.get('users/7', {}, AbortSignal.abort(reason))), reason);
    assert.is(await rejection(relay.health(AbortSignal.abort(reason))), reason);
    assert.is(calls.length, 0);
  });

  check('whose time is over learns so, and the call that was made for it ends', async () => {
    const { relay, calls, clock, gate } = relayWorld(() => 'silence');
    const deadline = createDeadline(clock, 5000);
    const error = rejection(relay.get('users/7', {}, deadline.signal));
    await clock.advance(5000);
    assert.instance(await error, Fault);
    assert.is(calls[0]?.end, 'aborted');
    assert.is(calls.length, 1);
    assert.is(gate.running(), 0);
  });
});

describe('a change', (check) => {
  check('is sent with its body to the letter, and its key unchanged', async () => {
    const { relay, calls } = relayWorld([ok({ id: 7 })]);
    assert.equal(await relay.send(WRITE, NEVER), { kind: 'accepted', data: { id: 7 }, isReplay: false });
    const [{ sent } = { sent: undefined }] = calls;
    assert.equal(
      [sent?.method, sent?.url, sent?.body],
      ['POST', `${BASE_URL}/api/v1/admin/users/7/balance`, '{"balance":12.50}'],
    );
    assert.equal(sent?.headers, {
      'user-agent': 'gatehouse-relay-admin/1.2.3',
      accept: 'application/json',
      'x-api-key': SECRET,
      'content-type': 'application/json',
      'idempotency-key': 'key-1',
    });
  });

  check('without a key of its own has no such header', async () => {
    const { relay, calls } = relayWorld([ok(1)]);
    await relay.send({ method: 'PUT', path: 'users/7', body: '{}' }, NEVER);
    assert.not('idempotency-key' in (calls[0]?.sent.headers ?? {}));
    assert.is(calls[0]?.sent.method, 'PUT');
  });

  const unknown = (doubt: string) => ({ kind: 'unknown', reason: doubt }) as WriteAnswer;
  const refused = (status: number) =>
    ({ kind: 'refused', status, isBeforeHandler: status === 0 || status === 429 }) as const;
  const ANSWERS: readonly (readonly [string, Answer | Error, WriteAnswer])[] = [
    ...[301, 302, 303, 307, 308].map(
      (status) => [`${status}`, { status, headers: { location: '/x' } }, unknown('redirected')] as const,
    ),
    ...[400, 401, 403, 404, 413, 423, 429].map((status) => [`${status}`, { status }, refused(status)] as const),
    ['429 and a short wait', { status: 429, headers: { 'retry-after': '1' } }, refused(429)],
    ...[408, 409, 500, 502, 503, 504].map((status) => [`${status}`, { status }, unknown('server-error')] as const),
    ['200 and a page', { text: '<html>' }, unknown('unusable-answer')],
    ['too much', reset('ANSWER_TOO_LARGE'), unknown('unusable-answer')],
    ['a reset', reset(), unknown('no-answer')],
    ['no connection', reset('ECONNREFUSED'), refused(0)],
    ['something unheard of', new TypeError('a bug'), unknown('timed-out')],
    ['a fault', new Fault({ kind: 'overloaded', retryAfterMs: 1 }), unknown('timed-out')],
  ];
  for (const [what, answer, expected] of ANSWERS) {
    check(`that is answered with ${what} is answered for, and never sent twice`, async () => {
      const { relay, calls, clock } = relayWorld(() => answer);
      assert.equal(await relay.send(WRITE, NEVER), expected);
      await clock.advance(60_000);
      assert.is(calls.length, 1);
      assert.is(clock.pending(), 0);
    });
  }

  check('whose time is over while no one answers is unknown', async () => {
    const { relay, clock, calls } = relayWorld(() => 'silence');
    const deadline = createDeadline(clock, 5000);
    const answer = relay.send(WRITE, deadline.signal);
    await clock.advance(5000);
    assert.equal(await answer, unknown('timed-out'));
    assert.is(calls[0]?.end, 'aborted');
  });

  check('whose caller left before does not claim to know', async () => {
    const { relay, calls } = relayWorld(() => ok(1));
    assert.equal(await relay.send(WRITE, AbortSignal.abort(new Fault({ kind: 'client-left' }))), unknown('timed-out'));
    assert.is(calls.length, 0);
  });

  check('is not believed to be refused by a relay that throws before it answers', async () => {
    const relay = createRelayClient({
      address: ADDRESS,
      key: { kind: 'present', secret: SECRET },
      clock: createFakeClock(),
      gate: createSemaphore(1, 0),
      version: '0',
      httpClient: () => {
        throw new Error('at once');
      },
    });
    assert.equal(await relay.send(WRITE, NEVER), unknown('timed-out'));
  });
});
