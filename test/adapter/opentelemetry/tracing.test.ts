import { ROOT_CONTEXT } from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import * as assert from 'uvu/assert';
import { createSender } from '../../../src/adapter/opentelemetry/sender.ts';
import { createThreadSender } from '../../../src/adapter/opentelemetry/thread/sender.ts';
import { describe } from '../../check.ts';
import { closedPort } from '../../core/http/local-server.ts';
import { CALLER, CALLERS_TRACEPARENT, type Collector, startCollector, tracingTo } from './collector.ts';

const withCollector = async (body: (collector: Collector) => Promise<void>, status?: () => number): Promise<void> => {
  const collector = await startCollector(status);
  try {
    await body(collector);
  } finally {
    await collector.close();
  }
};
const rooted = (name: string, traceparent?: string, tracestate?: string) => ({
  name,
  kind: 'server' as const,
  parent: traceparent === undefined ? undefined : { traceparent, ...(tracestate === undefined ? {} : { tracestate }) },
  attributes: () => ({ 'http.request.method': 'POST' }),
});

describe('spans that are sent', (check) => {
  check('are those of the caller’s trace, each below the one that it was begun in', () =>
    withCollector(async (collector) => {
      const tracing = tracingTo(collector.url, 'gateway', {
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=one',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      });
      const root = tracing.beginSpan(rooted('POST /', CALLERS_TRACEPARENT, 'vendor=a'));
      const child = root?.begin('chat judge', 'client', { 'gen_ai.request.model': 'judge', 'list.of': ['a', 'b'] });
      assert.match(
        child?.context.traceparent ?? '',
        new RegExp(`^00-${CALLER.traceId}-(?!${CALLER.spanId})\\w{16}-01$`),
      );
      assert.is(child?.context.tracestate, 'vendor=a');
      child?.set({ 'gen_ai.provider.name': 'ollama' });
      child?.end({ 'gen_ai.usage.input_tokens': 12 });
      root?.end({ 'error.type': 'bug' });
      await tracing.close();
      const [sentRoot, sentChild] = [collector.span('POST /'), collector.span('chat judge')];
      assert.equal([sentRoot.traceId, sentRoot.parentSpanId, sentRoot.kind], [CALLER.traceId, CALLER.spanId, 2]);
      assert.equal([sentChild.traceId, sentChild.parentSpanId, sentChild.kind], [CALLER.traceId, sentRoot.spanId, 3]);
      assert.equal(sentChild.attributes, {
        'gen_ai.request.model': 'judge',
        'list.of': ['a', 'b'],
        'gen_ai.provider.name': 'ollama',
        'gen_ai.usage.input_tokens': 12,
      });
      assert.equal([sentRoot.isError, sentChild.isError], [true, false]);
      assert.equal(sentRoot.resource, {
        'service.namespace': 'gatehouse',
        'service.name': 'gatehouse-gateway',
        'service.version': '0.1.0',
        'deployment.environment.name': 'test',
      });
      assert.equal(
        collector.heads.map(({ path, headers }) => [path, headers['x-tenant']]),
        [['/v1/traces', 'one']],
      );
    }),
  );

  check('carry the name that the operator gives', () =>
    withCollector(async (collector) => {
      for (const [index, variables] of [
        { OTEL_SERVICE_NAME: 'front', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other' },
        { OTEL_RESOURCE_ATTRIBUTES: 'service.name=other' },
      ].entries()) {
        const tracing = tracingTo(collector.url, 'gateway', variables);
        tracing.beginSpan(rooted(`POST /${index}`))?.end();
        await tracing.close();
      }
      assert.equal(
        collector.spans.map(({ service }) => service),
        ['front', 'other'],
      );
    }),
  );

  check('are not recorded where the caller has decided so, unless the sampler asks nobody', () =>
    withCollector(async (collector) => {
      const unsampled = `${CALLERS_TRACEPARENT.slice(0, -1)}0`;
      const parentBased = tracingTo(collector.url, 'gateway');
      const span = parentBased.beginSpan(rooted('as its caller', unsampled));
      const childOf = span?.begin('within', 'client');
      assert.is(childOf?.context.traceparent, span?.context.traceparent);
      assert.match(childOf?.context.traceparent ?? '', new RegExp(`^00-${CALLER.traceId}-\\w{16}-00$`));
      childOf?.end();
      span?.end();
      const always = tracingTo(collector.url, 'gateway', { OTEL_TRACES_SAMPLER: 'always_on' });
      always.beginSpan(rooted('all the same', unsampled))?.end();
      await Promise.all([parentBased.close(), always.close()]);
      assert.equal(
        collector.spans.map(({ name }) => name),
        ['all the same'],
      );
    }),
  );

  check('are left out of a trace that its caller records where the sampler says so, and the next service is told', () =>
    withCollector(async (collector) => {
      const tracing = tracingTo(collector.url, 'gateway', { OTEL_TRACES_SAMPLER: 'always_off' });
      const span = tracing.beginSpan(rooted('POST /', CALLERS_TRACEPARENT, 'vendor=a, other=b'));
      const { traceparent = '', tracestate } = span?.begin('chat judge', 'client').context ?? {};
      assert.is(span?.isRecorded, false);
      assert.match(traceparent, new RegExp(`^00-${CALLER.traceId}-(?!${CALLER.spanId})\\w{16}-00$`));
      assert.is(tracestate, 'vendor=a, other=b');
      span?.end();
      await tracing.close();
      assert.is(collector.spans.length, 0);
    }),
  );

  check('are a share of the traces, and a trace that is left out says so to the next service', () =>
    withCollector(async (collector) => {
      const tracing = tracingTo(collector.url, 'gateway', {
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      });
      const flags = Array.from({ length: 1000 }, () => {
        const span = tracing.beginSpan(rooted('POST /'));
        const flag = span?.begin('chat judge', 'client').context.traceparent.slice(-2);
        span?.end();
        return flag;
      });
      await tracing.close();
      const recorded = flags.filter((flag) => flag === '01').length;
      assert.ok(recorded > 150 && recorded < 350, String(recorded));
      assert.is(flags.filter((flag) => flag === '00').length, 1000 - recorded);
      assert.is(collector.spans.length, recorded);
    }),
  );

  check('are of the traces that another service with the same share records, whoever began them', () =>
    withCollector(async (collector) => {
      const share = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' };
      const first = tracingTo(collector.url, 'bridge', share);
      const second = tracingTo(collector.url, 'agent', share);
      const other = new TraceIdRatioBasedSampler(0.25);
      const begun = Array.from({ length: 1000 }, () => {
        const { traceparent = '' } = first.beginSpan(rooted('POST /'))?.context ?? {};
        // The flag is left out, so that only the id of the trace can tell.
        const next = second.beginSpan(rooted('POST /', `${traceparent.slice(0, -2)}00`));
        const [, traceId = '', spanId] = /^00-([\da-f]{32})-([\da-f]{16})-0[01]$/.exec(traceparent) ?? [];
        const flags = [traceparent, next?.context.traceparent].map((each) => each?.slice(-1));
        const decided = other.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
        assert.equal(flags, decided ? ['1', '1'] : ['0', '0'], traceparent);
        return { traceId, spanId };
      });
      assert.is(new Set(begun.map(({ traceId }) => traceId)).size, 1000);
      assert.is(new Set(begun.map(({ spanId }) => spanId)).size, 1000);
      await Promise.all([first.close(), second.close()]);
    }),
  );
});

describe('a service that stops', (check) => {
  for (const [place, sender] of [
    ['itself', createSender],
    ['its thread', createThreadSender],
  ] as const)
    check(`sends all spans that wait, however many there are and how large, by ${place}`, () =>
      withCollector(async (collector) => {
        const tracing = tracingTo(collector.url, 'gateway', {}, sender);
        // A full batch is sent at once, and a full queue waits behind it.
        const count = 512 + 2048;
        const tracestate = `one=${'a'.repeat(250)},two=${'b'.repeat(250)}`;
        for (let span = 0; span < count; span++)
          tracing.beginSpan(rooted('POST /', CALLERS_TRACEPARENT, tracestate))?.end();
        await tracing.close();
        assert.is(collector.spans.length, count);
        assert.ok(collector.spans.every(({ traceState }) => traceState === tracestate));
        assert.equal(tracing.logged, []);
      }),
    );
});

describe('a collector that takes nothing', (check) => {
  check('costs nothing but one line of the log, by status, and is told of when it is over', () => {
    let status = 400;
    return withCollector(
      async (collector) => {
        const tracing = tracingTo(`${collector.url}/canary-path`, 'gateway', {
          OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary-key',
        });
        // A full batch is sent at once.
        const sendBatch = async (): Promise<void> => {
          const before = collector.heads.length;
          for (let count = 0; count < 512; count++) tracing.beginSpan(rooted('POST /'))?.end();
          while (collector.heads.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
          await new Promise((resolve) => setTimeout(resolve, 20));
        };
        await sendBatch();
        await sendBatch();
        assert.equal(tracing.logged, ['warn spans-not-sent {"reason":"HTTP 400"}']);
        status = 200;
        await sendBatch();
        await tracing.close();
        assert.is(tracing.logged[1], 'info spans-sent-again {}');
        assert.is(tracing.logged.length, 2);
      },
      () => status,
    );
  });

  check('does not make the queue grow, and holds up no end', async () => {
    const tracing = tracingTo(`http://127.0.0.1:${await closedPort()}`, 'gateway', {
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    });
    for (let count = 0; count < 10_000; count++) tracing.beginSpan(rooted('POST /'))?.end();
    const startedAt = performance.now();
    await tracing.close();
    assert.ok(performance.now() - startedAt < 3000, `${performance.now() - startedAt} ms`);
    assert.equal(tracing.logged.length, 1);
    assert.match(tracing.logged[0] ?? '', /^warn spans-not-sent \{"reason":"[\w ]+"\}$/);
  });
});
