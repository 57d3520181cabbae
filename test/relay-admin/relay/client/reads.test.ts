import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { createSemaphore } from '../../../../src/core/semaphore.ts';
import type { RelayErrorDetail } from '../../../../src/relay-admin/errors/errors.ts';
import { createRelayClient } from '../../../../src/relay-admin/relay/client.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { type Answer, reset } from '../../../llm/scripted-client.ts';
import { ADDRESS, afterAll, get, ok, problemOf, relayWorld, SECRET } from './world.ts';

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
  ['403', { status: 403 }, { kind: 'upstream-forbidden' }, 1],
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
