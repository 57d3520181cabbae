import * as assert from 'uvu/assert';
import {
  CALLER,
  CALLERS_TRACEPARENT,
  type Collector,
  startCollector,
  tracingTo,
} from '../adapter/opentelemetry/collector.ts';
import { describe } from '../check.ts';
import {
  type Answer,
  GATEWAY_KEY,
  gatewayOver,
  judging,
  received,
  replying,
  shownTextOf,
  type WorldSettings,
} from './harness/world.ts';

const CANARY_TEXT = 'canary-text of a user';
const CALLED = { traceparent: CALLERS_TRACEPARENT, tracestate: 'vendor=a' };

type Traced = ReturnType<typeof gatewayOver> & { readonly collector: Collector; readonly sent: () => Promise<void> };
/** A gateway whose spans are sent to a collector. */
const traced = async (
  answer: Answer,
  settings: WorldSettings,
  body: (world: Traced) => Promise<void>,
): Promise<void> => {
  const collector = await startCollector();
  const { beginSpan, close } = tracingTo(collector.url, 'gateway');
  const world = gatewayOver(answer, { ...settings, needs: { ...settings.needs, beginSpan } });
  try {
    await body({ ...world, collector, sent: close });
  } finally {
    await close();
    await collector.close();
  }
};
const traceOf = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): string | undefined =>
  headers.traceparent;

describe('a trace through the gateway without an exporter', (check) => {
  check('reaches the backend as it came, and no header is made up without one', async () => {
    const { ask, calls } = gatewayOver(judging());
    await ask({ input: 'one' }, CALLED);
    assert.equal([calls[0]?.headers.traceparent, calls[0]?.headers.tracestate], [CALLERS_TRACEPARENT, 'vendor=a']);
    await ask({ input: 'two' });
    await ask({ input: 'three' }, { traceparent: `00-${CALLER.traceId}-wrong-01`, tracestate: 'vendor=a' });
    for (const { headers } of calls.slice(1)) assert.not.ok('traceparent' in headers || 'tracestate' in headers);
    assert.is(calls.length, 3);
  });

  check('is passed on with several texts in one request, by the guard face, and for products', async () => {
    const { ask, visit, app, calls } = gatewayOver(judging());
    await ask({ input: ['one', 'two'] }, CALLED);
    const chat = { model: 'guard-json', messages: [{ role: 'user', content: 'three' }] };
    for (const [path, body] of [
      ['/v1/chat/completions', chat],
      ['/beta/litellm_basic_guardrail_api', { texts: ['four'] }],
    ] as const)
      await app(
        new Request(`http://gateway.test${path}`, {
          method: 'POST',
          headers: { ...CALLED, authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      );
    await visit('/v1/models', 'GET', CALLED);
    assert.equal(new Set(calls.map(shownTextOf)), new Set(['one', 'two', 'three', 'four']));
    for (const call of calls) assert.is(traceOf(call), CALLERS_TRACEPARENT);
  });
});

describe('the spans of the gateway', (check) => {
  check('are the request and the call to the judge, by the conventions, without a text, a key or an address', () =>
    traced(judging(), {}, async ({ ask, calls, collector, sent }) => {
      await ask({ input: CANARY_TEXT, user: 'canary-user' }, { ...CALLED, 'x-request-id': 'canary-request' });
      await sent();
      const request = collector.span('POST /v1/moderations');
      assert.equal([request.traceId, request.parentSpanId, request.kind], [CALLER.traceId, CALLER.spanId, 2]);
      assert.equal(request.attributes, {
        'http.request.method': 'POST',
        'http.route': '/v1/moderations',
        'http.response.status_code': 200,
      });
      const [call, ...others] = collector.spans.filter(({ name }) => name.startsWith('chat '));
      assert.is(others.length, 0);
      assert.equal([call?.traceId, call?.parentSpanId, call?.kind], [CALLER.traceId, request.spanId, 3]);
      const {
        'gen_ai.request.model': model,
        'gen_ai.usage.input_tokens': input,
        'server.address': host,
        'server.port': port,
        ...rest
      } = call?.attributes ?? {};
      assert.is(call?.name, `chat ${model}`);
      assert.ok(Number(input) > 100 && typeof host === 'string' && Number(port) > 0);
      assert.equal(rest, {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'ollama',
        'gen_ai.usage.output_tokens': 70,
      });
      assert.equal(calls.map(traceOf), [`00-${CALLER.traceId}-${call?.spanId}-01`]);
      for (const canary of ['canary', GATEWAY_KEY, 'backend-key']) assert.not.match(collector.texts.join('\n'), canary);
    }),
  );

  check('show each call of a failover and of a repair, with why it failed', () => {
    let count = 0;
    const answer: Answer = (sent) => {
      count += 1;
      if (count === 1) return received(500, '{"error":"canary-words of a backend"}');
      return count === 2 ? replying(sent, 'canary-words, and no verdict') : judging()(sent);
    };
    return traced(answer, {}, async ({ ask, calls, collector, sent }) => {
      await ask({ input: CANARY_TEXT }, CALLED);
      await sent();
      const request = collector.span('POST /v1/moderations');
      const chats = collector.spans.filter(({ name }) => name.startsWith('chat '));
      assert.equal(
        chats.map(({ parentSpanId }) => parentSpanId),
        [request.spanId, request.spanId, request.spanId],
      );
      assert.equal(
        chats.map(({ spanId }) => spanId),
        calls.map((call) => traceOf(call)?.split('-')[2]),
      );
      assert.equal(
        chats.map(({ attributes }) => attributes['error.type']),
        ['failed', undefined, undefined],
      );
      assert.equal(
        chats.map(({ isError }) => isError),
        [true, false, false],
      );
      assert.not.match(collector.texts.join('\n'), 'canary');
    });
  });

  check('show a hedge beside the call that it is for, and which of the two was given up', () => {
    const first = Promise.withResolvers<never>();
    let count = 0;
    const answer: Answer = (sent) => (count++ === 0 ? first.promise : judging()(sent));
    return traced(answer, { variables: { HEDGE_AFTER_MS: '1000' } }, async ({ ask, clock, collector, sent }) => {
      const asked = ask({ input: 'slow' }, CALLED);
      await clock.advance(1000);
      assert.is((await asked).status, 200);
      await sent();
      const request = collector.span('POST /v1/moderations');
      const chats = collector.spans.filter(({ name }) => name.startsWith('chat '));
      assert.equal(
        chats.map(({ parentSpanId }) => parentSpanId),
        [request.spanId, request.spanId],
      );
      assert.equal(chats.map(({ attributes }) => attributes['error.type']).sort(), ['client-left', undefined]);
    });
  });

  check('tell a failed request by the name of its failure, and probes only within a trace of theirs', () =>
    traced(
      () => received(503, 'canary'),
      {},
      async ({ ask, visit, collector, sent }) => {
        assert.is((await ask({ input: CANARY_TEXT }, CALLED)).status, 502);
        await visit('/health');
        await visit('/metrics');
        await visit('/canary/path?text=canary', 'GET');
        await visit('/health', 'GET', CALLED);
        await sent();
        const { attributes, isError } = collector.span('POST /v1/moderations');
        assert.is(isError, true);
        assert.match(String(attributes['error.type']), /^[a-z-]+$/);
        assert.is(attributes['http.response.status_code'], 502);
        assert.equal(
          collector.spans.flatMap(({ name }) => (name.startsWith('GET ') ? [name] : [])),
          ['GET other', 'GET /health'],
        );
        assert.not.match(collector.texts.join('\n'), 'canary');
      },
    ),
  );
});
