import * as assert from 'uvu/assert';
import type { ChatModel } from '../../src/agent/model/types.ts';
import { CALLERS_TRACEPARENT } from '../adapter/opentelemetry/collector.ts';
import { replying } from '../agent/harness/world.ts';
import { describe } from '../check.ts';
import { user, withBridge } from './harness/world.ts';

const CALLED = { traceparent: CALLERS_TRACEPARENT, tracestate: 'vendor=a' };

describe('a trace through the bridge without an exporter', (check) => {
  check('reaches the model of the agent with each prompt, streamed or not, and of each endpoint', async () => {
    const traces: unknown[] = [];
    const model: ChatModel = (request, signal, trace) => {
      traces.push(trace);
      return replying('hello')(request, signal);
    };
    await withBridge({ changes: { model }, titler: null }, async ({ chat, chunks, send }) => {
      await chat({ messages: [user('one')] }, CALLED);
      await chunks({ messages: [user('two')] }, CALLED);
      await (await send('/v1/responses', { input: 'three' }, CALLED)).text();
      assert.equal(traces, [CALLED, CALLED, CALLED]);
      await chat({ messages: [user('four')] });
      assert.equal(traces.slice(3), [undefined]);
    });
  });
});
