import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { createHandler } from '../../../../src/core/http/handler.ts';
import { jsonResponse } from '../../../../src/core/http/response.ts';
import { describe } from '../../../check.ts';
import { createBodies, faultOf, KB, openPosting, postingOf } from './world.ts';

describe('the bodies of requests in flight', (check) => {
  check('that still arrive when their request is answered are counted no more', async () => {
    const { clock, budget, bodies } = createBodies();
    const { request, send } = openPosting();
    const reading = faultOf(bodies.readJson(request));
    await send(`"${'x'.repeat(8 * KB - 1)}`);
    assert.is(budget.usedBytes(), 8 * KB);
    await clock.advance(30_000);
    assert.equal(await reading, { kind: 'body-too-slow' });
    bodies.release(request);
    assert.is(budget.usedBytes(), 0);
    await send('x'.repeat(8 * KB));
    await clock.advance(0);
    assert.is(budget.usedBytes(), 0);
  });

  check('may take 30 s, or as long as a deadline of the service says', async () => {
    const { clock, bodies } = createBodies();
    const deadline = new AbortController();
    const waiting = openPosting();
    const given = openPosting();
    let isLate = false;
    const slow = faultOf(bodies.readJson(waiting.request)).finally(() => {
      isLate = true;
    });
    const timed = bodies.readJson(given.request, deadline.signal);
    await clock.advance(29_999);
    assert.is(isLate, false);
    await clock.advance(1);
    assert.equal(await slow, { kind: 'body-too-slow' });
    await given.send('1');
    deadline.abort();
    assert.equal(await faultOf(timed), { kind: 'body-too-slow' });
    assert.is(clock.pending(), 0);
  });

  check('that still arrive when a service stops have one second for it', async () => {
    const { clock, bodies } = createBodies();
    const [quick, slow] = [openPosting(), openPosting()];
    const reading = bodies.readJson(quick.request);
    const late = faultOf(bodies.readJson(slow.request));
    await clock.advance(5000);
    bodies.stop();
    await clock.advance(900);
    await quick.send('1');
    await quick.end();
    assert.is(await reading, 1);
    await clock.advance(100);
    assert.equal(await late, { kind: 'body-too-slow' });
    assert.is(clock.pending(), 0);
  });

  check('are given back by the handler, whatever comes of the request', async () => {
    const { clock, budget, bodies } = createBodies();
    const answers: readonly (() => Response)[] = [
      () => jsonResponse(200, {}),
      () => {
        throw new Fault({ kind: 'unauthorized' });
      },
      () => {
        throw new TypeError('a bug');
      },
    ];
    for (const answer of answers) {
      const handler = createHandler(
        async (request) => {
          await bodies.readJson(request);
          assert.is(budget.usedBytes(), 100 * KB);
          return answer();
        },
        { clock, log: () => {}, newId: () => '1', routeOf: () => '/', bodies },
      );
      await handler(postingOf(100 * KB));
      assert.is(budget.usedBytes(), 0);
    }
  });

  check('may be left out where a route says so', async () => {
    const { budget, bodies } = createBodies();
    assert.is(await bodies.readJsonIfAny(new Request('http://service.test/', { method: 'POST' })), undefined);
    assert.is(await bodies.readJsonIfAny(postingOf(10 * KB)), 'x'.repeat(10 * KB - 2));
    assert.is(budget.usedBytes(), 10 * KB);
  });
});
