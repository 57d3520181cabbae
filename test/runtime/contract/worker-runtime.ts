import * as assert from 'uvu/assert';
import { fetchText } from '../client.ts';
import type { Runtime } from './worlds.ts';

/** A runtime of the Worker bundle. It has no start to refuse: wrong variables show at the first request, as a 500. */
export const workerRuntime = (name: string, start: Runtime['start']): Runtime => ({
  name,
  start,
  keepsMetrics: false,
  async refused(variables) {
    const gateway = await start(variables);
    try {
      const { status, text } = await fetchText(`${gateway.address}/health`);
      assert.is(status, 500);
      const again = await fetchText(`${gateway.address}/health`);
      assert.equal([again.status, again.text], [500, text]);
      return { printed: gateway.stdout() + gateway.stderr(), answered: text };
    } finally {
      await gateway.kill();
    }
  },
});
