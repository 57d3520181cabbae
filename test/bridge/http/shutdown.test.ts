import { getEventListeners } from 'node:events';
import * as assert from 'uvu/assert';
import { createActiveRequests } from '../../../src/bridge/http/shutdown.ts';
import type { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';

const requestWith = (signal: AbortSignal) => new Request('http://bridge.test/', { signal });
const reasonOf = ({ reason }: AbortSignal): string => (reason as Fault).detail.kind;

describe('a signal that ends with its client or the service', (check) => {
  check('ends with its client, whichever way that is noticed', () => {
    const leaving = createActiveRequests();
    const client = new AbortController();
    const { signal } = leaving.track(requestWith(client.signal));
    const other = leaving.track(requestWith(new AbortController().signal));
    assert.not.ok(signal.aborted);
    client.abort();
    assert.is(reasonOf(signal), 'client-left');
    other.disconnect();
    assert.is(reasonOf(other.signal), 'client-left');
    assert.is(leaving.count(), 2);
  });

  check('is over at once for a client that has left', () => {
    const { signal } = createActiveRequests().track(requestWith(AbortSignal.abort()));
    assert.is(reasonOf(signal), 'client-left');
  });

  check('ends with the service, also for those who come then', () => {
    const leaving = createActiveRequests();
    const { signal } = leaving.track(requestWith(new AbortController().signal));
    leaving.stop();
    assert.is(reasonOf(signal), 'unavailable');
    assert.is(reasonOf(leaving.track(requestWith(new AbortController().signal)).signal), 'unavailable');
  });

  check('lets go of its client once it is done, and is counted no more', () => {
    const leaving = createActiveRequests();
    const client = new AbortController();
    const request = requestWith(client.signal);
    const before = getEventListeners(request.signal, 'abort').length;
    const { signal, end: done } = leaving.track(request);
    assert.equal([leaving.count(), getEventListeners(request.signal, 'abort').length], [1, before + 1]);
    done();
    done();
    assert.equal([leaving.count(), getEventListeners(request.signal, 'abort').length], [0, before]);
    client.abort();
    leaving.stop();
    assert.not.ok(signal.aborted);
  });
});
