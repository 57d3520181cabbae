import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { guarding } from '../harness/guard-face.ts';
import { askIntegration } from '../harness/integrations.ts';
import { judging, received } from '../harness/world.ts';
import { adminOver, readEvents, type SentEvent } from './world.ts';

const CANARY = 'canary text that only the user wrote';
const LOOK_MS = 200;
const dataOf = (event: SentEvent | undefined): Readonly<Record<string, unknown>> => ({ ...(event?.data as object) });

describe('the events of a gateway', (check) => {
  const watched = async (answer: Parameters<typeof adminOver>[0], variables = {}) => {
    const world = adminOver(answer, { variables });
    const reader = readEvents(await world.admin('events'));
    const next = async () => {
      await world.clock.advance(LOOK_MS);
      return reader.next();
    };
    return { ...world, reader, next };
  };

  check('are a verdict for each result, without a word of its text', async () => {
    const { ask, next, reader } = await watched(judging({ HR: 90, VI: 20 }));
    await ask({ input: [CANARY, Buffer.from(`${CANARY} in base64`).toString('base64')], model: 'moderation-standard' });
    const [first, second, ...others] = await next();
    assert.equal(others, []);
    const { at, duration_ms: durationMs, ...data } = dataOf(first);
    assert.type(at, 'number');
    assert.type(durationMs, 'number');
    assert.equal(data, {
      face: 'moderations',
      alias: 'moderation-standard',
      flagged: ['harassment'],
      highest: { category: 'harassment', score: 0.9 },
      hidden: false,
      cache: 'miss',
    });
    assert.is(dataOf(second).hidden, true);
    await ask({ input: CANARY, model: 'moderation-standard' });
    const [third] = await next();
    assert.is(dataOf(third).cache, 'hit');
    assert.not.match(reader.text(), 'canary');
  });

  check('are one verdict for a request to the guard face', async () => {
    const { askGuard, next } = await watched(guarding({ HR: 90 }));
    assert.is((await askGuard(CANARY)).status, 200);
    const events = await next();
    assert.equal(
      events.map(({ data }) => {
        const { face, alias, flagged } = data as Record<string, unknown>;
        return [face, alias, flagged];
      }),
      [['guard', 'qwen3guard', ['harassment']]],
    );
  });

  check('are one verdict for a request of a product that asks in its own way', async () => {
    const world = await watched(judging({ HR: 90 }));
    await askIntegration(world, '/beta/litellm_basic_guardrail_api', {
      texts: [CANARY, 'hello'],
      input_type: 'request',
    });
    assert.equal(
      (await world.next()).map((event) => [dataOf(event).face, dataOf(event).flagged]),
      [['guard', ['harassment']]],
    );
  });

  check('name the error of a request without a verdict, and not that of a wrong request', async () => {
    const { ask, next } = await watched(() => received(500, 'broken'));
    assert.is((await ask({})).status, 400);
    assert.is((await ask({ input: CANARY }, { authorization: 'Bearer canary' })).status, 401);
    assert.is((await ask({ input: CANARY })).status, 502);
    const data = (await next()).map((event) => event.data as Record<string, unknown>);
    assert.equal(
      data.map(({ alias, error, flagged }) => [alias, error, flagged]),
      [['omni-moderation-latest', 'backend_error', undefined]],
    );
  });

  check('are every change of a key, by its fingerprint', async () => {
    const { ask, admin, next, reader } = await watched((sent) =>
      sent.headers.authorization === 'Bearer backend-key-1' ? received(401, 'unauthorized') : judging()(sent),
    );
    await ask({ input: CANARY });
    const [refused] = (await next()).filter(({ event }) => event === 'keys');
    const { fingerprint, state, reason } = dataOf(refused);
    assert.equal([state, reason], ['cooling', 'auth']);
    await admin(`keys/${fingerprint}/release`, {});
    await admin(`keys/${fingerprint}/rest`, { seconds: 5 });
    assert.equal(
      (await next()).map(dataOf).map((data) => [data.state, data.reason]),
      [
        ['active', 'manual'],
        ['cooling', 'manual'],
      ],
    );
    assert.not.match(reader.text(), /backend-key/);
  });

  check('are no more than 500 a second, and the others are counted', async () => {
    const { ask, next, clock } = await watched(judging());
    for (let turn = 0; turn < 10; turn++)
      await ask({ input: Array.from({ length: 30 }, (_, index) => `text ${index}`) });
    await next();
    await clock.advance(250);
    await ask({ input: 'the next one' });
    const found = await next();
    assert.equal(
      found.map((event) => [event.event, dataOf(event).count]),
      [
        ['skipped', 175],
        ['verdict', undefined],
      ],
    );
  });

  check('do not come for a check: it is no verdict for a client', async () => {
    const { admin, next } = await watched(judging({ HR: 90 }));
    assert.is((await admin('check', { input: CANARY })).status, 200);
    assert.equal(await next(), []);
  });
});
