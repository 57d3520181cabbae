import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { answering } from '../harness/model-scripts.ts';
import { KEY, user, withBridge } from '../harness/world.ts';

/** A chat request with this body, which the bridge is to read as it comes. */
const arriving = (body: BodyInit, bytes: number): Request => {
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'content-length': String(bytes),
  };
  // The type of the platform does not have `duplex`, which a body that is a stream needs.
  const init: RequestInit = Object.assign({ method: 'POST', headers, body }, { duplex: 'half' });
  return new Request('http://bridge.test/v1/chat/completions', init);
};
/** A body that never ends. */
const unfinished = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"messages":[')) });
const codeOf = async (response: Response): Promise<readonly [number, string]> => {
  const { error } = (await response.json()) as { readonly error: { readonly code: string } };
  return [response.status, error.code];
};

describe('the body of a request', (check) => {
  check('a body that does not arrive in 30 seconds: 408, and no retry', async () => {
    const clock = createFakeClock();
    await withBridge({ clock }, async ({ bridge }) => {
      const answer = bridge.handler(arriving(unfinished(), 1000));
      await clock.advance(29_999);
      await clock.advance(1);
      const response = await answer;
      assert.is(response.headers.get('x-should-retry'), 'false');
      assert.equal(await codeOf(response), [408, 'body_timeout']);
    });
  });

  check(
    'bodies that are larger together than the budget: 503 with a time, and place again when they are gone',
    async () => {
      const text = JSON.stringify({ model: 'demo/main', messages: [user('x'.repeat(300_000))] });
      await withBridge(
        { settings: { bodyLimitBytes: 400_000 }, memoryBytes: 4_000_000, scripts: [answering((words) => words)] },
        async ({ bridge }) => {
          const leaving = new AbortController();
          const first = bridge.handler(new Request(arriving(unfinished(), 300_000), { signal: leaving.signal }));
          const refused = await bridge.handler(arriving(text, text.length));
          assert.ok(Number(refused.headers.get('retry-after')) >= 1);
          assert.equal(await codeOf(refused), [503, 'overloaded']);
          leaving.abort();
          assert.is((await first).status, 499);
          assert.is((await bridge.handler(arriving(text, text.length))).status, 200);
        },
      );
    },
  );
});
