import * as assert from 'uvu/assert';
import { createDeadline } from '../../../../src/core/async.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { createSemaphore } from '../../../../src/core/semaphore.ts';
import { createRelayClient } from '../../../../src/relay-admin/relay/client.ts';
import type { WriteAnswer } from '../../../../src/relay-admin/relay/response.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { type Answer, BASE_URL, reset } from '../../../llm/scripted-client.ts';
import { ADDRESS, NEVER, ok, relayWorld, SECRET, WRITE } from './world.ts';

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
