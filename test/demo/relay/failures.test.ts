import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import { relayWorld } from './caller.ts';

describe('failures of the demo relay', (check) => {
  const statusOf = async (fault: Parameters<ReturnType<typeof relayWorld>['control']['useRouteFault']>[0]) => {
    const { control, call } = relayWorld();
    control.useRouteFault(fault);
    const response = await call('users/2');
    await response.body?.cancel();
    return [response.status, (await call('users/2')).status];
  };

  check('has a fault for one request, and is well again with the next', async () => {
    for (const [fault, status] of [
      ['unavailable', 503],
      ['internal', 500],
      ['html', 200],
      ['garbage', 200],
      ['wrong-shape', 200],
      ['redirect-301', 301],
      ['redirect-302', 302],
      ['redirect-307', 307],
      ['redirect-308', 308],
      ['unauthorized', 401],
      ['forbidden', 403],
      ['terms', 423],
      ['not-found', 404],
      ['rate-limited', 429],
      ['drop', 502],
      ['huge', 200],
      ['bomb', 200],
      ['drip', 200],
      ['echo-key-400', 400],
      ['not-modified', 304],
      ['ignored', 200],
    ] as const)
      assert.equal(await statusOf(fault), [status, 200], fault);
  });
  check('causes faults in their order, as often as configured, and only where they fit', async () => {
    const { control, call } = relayWorld();
    control.useRouteFault('internal', 1, /history/);
    control.useRouteFault('unavailable', 2);
    control.useRouteFault('not-found', Infinity);
    const statuses = [];
    for (const path of ['users/2', 'users/2/balance-history', 'users/2', 'users/2', 'users/2'])
      statuses.push((await call(path)).status);
    assert.equal(statuses, [503, 500, 503, 404, 404]);
    control.clearFaults();
    assert.is((await call('users/2')).status, 200);
  });
  check('points a redirect and a retry where it is configured', async () => {
    const { control, call } = relayWorld();
    control.setLocation('http://127.0.0.1:9/x');
    control.useRouteFault('redirect-302');
    assert.is((await call('users')).headers.get('location'), 'http://127.0.0.1:9/x');
    for (const seconds of [3, undefined]) {
      control.setRetryAfter(seconds);
      control.useRouteFault('unavailable');
      assert.is((await call('users')).headers.get('retry-after'), seconds === undefined ? null : '3');
    }
  });
  check('echoes the key in a body, a header and the reason phrase', async () => {
    const { control, call } = relayWorld();
    control.useRouteFault('echo-key-400');
    const response = await call('users');
    assert.match(response.statusText, DEMO_ADMIN_KEY);
    assert.is(response.headers.get('x-echo'), DEMO_ADMIN_KEY);
    assert.match(await response.text(), DEMO_ADMIN_KEY);
  });
  check('does the work of a write and hides it, or hides that it did not', async () => {
    const { control, call, data } = relayWorld();
    const write = (rpm: number) => call('users/2', { method: 'PUT', body: { rpm_limit: rpm } });
    control.useRouteFault('drop-after');
    await write(11);
    assert.is(control.user(2).rpm_limit, 11);
    control.useRouteFault('ignored');
    assert.is(((await (await write(12)).json()) as { data: { rpm_limit: number } }).data.rpm_limit, 12);
    assert.is(control.user(2).rpm_limit, 11);
    control.useRouteFault('ignored');
    const account = await data('accounts/2/schedulable', { method: 'POST', body: { schedulable: true } });
    assert.equal([account.schedulable, control.account(2).schedulable], [true, false]);
    control.useRouteFault('drop');
    await write(13);
    assert.is(control.user(2).rpm_limit, 11);
  });
  check('is slow by its own clock, and stuck until the caller leaves', async () => {
    const { control, call, clock } = relayWorld();
    control.useRouteFault('slow');
    control.setDelayMs(4000);
    let isAnswered = false;
    const slow = call('users').then((response) => {
      isAnswered = true;
      return response;
    });
    await clock.advance(3999);
    assert.not(isAnswered);
    await clock.advance(1);
    assert.is((await slow).status, 200);
    const caller = new AbortController();
    control.useRouteFault('stuck');
    const stuck = call('users', { signal: caller.signal });
    caller.abort();
    assert.is((await stuck).status, 499);
    assert.is(clock.pending(), 0);
  });
  check('drips a byte a second and sends 50 MB, but only to who reads them', async () => {
    const { control, call, clock } = relayWorld();
    control.useRouteFault('drip');
    const reader = (await call('users')).body?.getReader();
    const first = reader?.read();
    await clock.advance(1000);
    assert.is((await first)?.value?.byteLength, 1);
    const second = reader?.read();
    await reader?.cancel();
    assert.is((await second)?.done, true);
    assert.is(clock.pending(), 0);
    control.useRouteFault('huge');
    let bytes = 0;
    for await (const chunk of (await call('users')).body ?? []) bytes += chunk.byteLength;
    assert.ok(bytes > 50 * 1024 * 1024 && bytes < 51 * 1024 * 1024);
  });
});
