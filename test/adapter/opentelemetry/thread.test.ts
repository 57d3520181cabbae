import { Worker } from 'node:worker_threads';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import * as assert from 'uvu/assert';
import type { SpanSender } from '../../../src/adapter/opentelemetry/exporter.ts';
import { createSender } from '../../../src/adapter/opentelemetry/sender.ts';
import { createThreadSender } from '../../../src/adapter/opentelemetry/thread/sender.ts';
import { describe } from '../../check.ts';
import { closedPort } from '../../core/http/local-server.ts';
import { CALLERS_TRACEPARENT, startCollector, tracingTo } from './collector.ts';

const at = (url: string) => ({ url: `${url}/v1/traces`, headers: { 'x-tenant': 'one' }, timeoutMs: 5000 });

/** Spans as the library has them: a root in a caller's trace, one that failed below it, and one without a parent. */
const spansOfLibrary = async (): Promise<ReadableSpan[]> => {
  const taken: ReadableSpan[] = [];
  const taking: SpanSender = {
    send: async (spans) => void taken.push(...spans),
    close: async () => {},
  };
  const variables = { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' };
  const tracing = tracingTo('http://127.0.0.1:1', 'gateway', variables, () => taking);
  const parent = { traceparent: CALLERS_TRACEPARENT, tracestate: 'vendor=a,other=b' };
  const root = tracing.beginSpan({ name: 'POST /', kind: 'server', parent, attributes: () => ({ 'http.route': '/' }) });
  const child = root?.begin('chat judge', 'client', { 'list.of': ['a', 'b'], tokens: 12, share: 0.5 });
  child?.end({ 'error.type': 'busy' });
  root?.end();
  tracing.beginSpan({ name: 'alone', kind: 'internal', parent: undefined, attributes: () => ({}) })?.end();
  await tracing.close();
  return taken;
};

const HEAD = `const { parentPort } = require('node:worker_threads');`;
/** A thread that does this with what it is given. */
const doing = (action: string) => () =>
  new Worker(`${HEAD} parentPort.on('message', (given) => { ${action} });`, { eval: true });

describe('the thread that sends spans', (check) => {
  check('sends what the process itself would send', async () => {
    const collector = await startCollector();
    const spans = await spansOfLibrary();
    assert.is(spans.length, 3);
    const senders = [createSender(at(collector.url)), createThreadSender(at(collector.url))];
    for (const { send, close } of senders) {
      assert.is(await send(spans), undefined);
      await close();
    }
    const [here, there] = collector.texts;
    assert.ok(here?.includes('vendor=a'));
    assert.is(there, here);
    assert.equal(
      collector.heads.map(({ path, headers }) => [path, headers['x-tenant'], headers['content-type']]),
      Array.from(senders, () => ['/v1/traces', 'one', 'application/json']),
    );
    await collector.close();
  });

  check('has sent all that it was given once it is closed, and says what could not be sent', async () => {
    const collector = await startCollector();
    const spans = await spansOfLibrary();
    const { send, close } = createThreadSender(at(collector.url));
    const sending = [send(spans), send(spans)];
    await close();
    assert.is(collector.texts.length, 2);
    assert.equal(await Promise.all(sending), [undefined, undefined]);
    await collector.close();
    const nowhere = createThreadSender({ ...at(`http://127.0.0.1:${await closedPort()}`), timeoutMs: 100 });
    assert.match((await nowhere.send(spans)) ?? '', /^[\w ]+$/);
    await nowhere.close();
  });

  check('that dies drops what it had, and is started anew after a rest', async () => {
    const spans = await spansOfLibrary();
    let nowMs = 0;
    let started = 0;
    const needs = {
      now: () => nowMs,
      start: () =>
        started++ === 0 ? doing('throw new Error()')() : doing('parentPort.postMessage({ id: given.id })')(),
    };
    const { send, close } = createThreadSender(at('http://127.0.0.1:1'), needs);
    assert.equal(await Promise.all([send(spans), send(spans)]), Array(2).fill('the sending thread has ended'));
    nowMs = 9999;
    assert.is(await send(spans), 'the sending thread has ended');
    assert.is(started, 1);
    nowMs = 10_000;
    assert.is(await send(spans), undefined);
    assert.is(started, 2);
    await close();
  });

  check('that cannot be started costs the spans and nothing else', async () => {
    const start = (): Worker => {
      throw Object.assign(new Error('canary'), { code: 'ERR_WORKER_INIT_FAILED' });
    };
    const { send, close } = createThreadSender(at('http://127.0.0.1:1'), { now: () => 0, start });
    assert.is(await send(await spansOfLibrary()), 'ERR_WORKER_INIT_FAILED');
    await close();
  });

  check('is given no more than it can have at a time', async () => {
    const spans = await spansOfLibrary();
    const thread = doing('')();
    const { send, close } = createThreadSender(at('http://127.0.0.1:1'), { now: () => 0, start: () => thread });
    const sending = Array.from({ length: 5 }, () => send(spans));
    assert.is(await send(spans), 'too many requests at a time');
    await thread.terminate();
    assert.equal(await Promise.all(sending), Array(5).fill('the sending thread has ended'));
    await close();
  });
});
