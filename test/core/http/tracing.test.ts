import * as assert from 'uvu/assert';
import { createRequestSpans, passOn, readTraceContext, serverAttributes } from '../../../src/core/http/tracing.ts';
import { describe } from '../../check.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const reading = (given: Readonly<Record<string, unknown>>) => readTraceContext((name) => given[name]);
const readAs = (traceparent: unknown): string | undefined => reading({ traceparent })?.traceparent;

describe('a trace context', (check) => {
  check('is taken as it came, with its state', () => {
    const context = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=a,other=b' };
    assert.equal(reading(context), context);
    assert.is(readAs(`00-${TRACE}-${SPAN}-00`), `00-${TRACE}-${SPAN}-00`);
  });

  check('of a later version becomes one of the known version, with the flag that it knows', () => {
    assert.is(readAs(`cc-${TRACE}-${SPAN}-07-what-the-future-will-be`), `00-${TRACE}-${SPAN}-01`);
    assert.is(readAs(`00-${TRACE}-${SPAN}-fe`), `00-${TRACE}-${SPAN}-00`);
  });

  for (const [why, traceparent] of Object.entries({
    'none at all': null,
    'an empty text': '',
    'another type': 17,
    'a trace of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
    'a span of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
    'upper case': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    'the forbidden version': `ff-${TRACE}-${SPAN}-01`,
    'more than this version has': `00-${TRACE}-${SPAN}-01-more`,
    'a line break': `00-${TRACE}-${SPAN}-01\r\nx: y`,
    'a space before it': ` 00-${TRACE}-${SPAN}-01`,
    'a shorter trace': `00-${TRACE.slice(1)}-${SPAN}-01`,
    'two of them': `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  }))
    check(`is not read from ${why}`, () => assert.is(reading({ traceparent, tracestate: 'vendor=a' }), undefined));

  for (const tracestate of ['', 'x'.repeat(513), 'line\nbreak', 'ümlaut', 7])
    check(`is taken without a state that is none: ${JSON.stringify(tracestate).slice(0, 16)}`, () => {
      const traceparent = `00-${TRACE}-${SPAN}-01`;
      assert.equal(reading({ traceparent, tracestate }), { traceparent });
    });
});

describe('a request without an exporter', (check) => {
  const requestWith = (headers: Readonly<Record<string, string>>) => new Request('http://service.test/', { headers });
  const about = { method: 'POST', route: '/v1/moderations' };

  check('passes on the context of its caller, from each operation within it', () => {
    const spans = createRequestSpans(passOn);
    const context = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=a' };
    const request = requestWith(context);
    spans.begin(request, about);
    assert.equal(spans.of(request)?.context, context);
    assert.equal(spans.of(request)?.begin('chat judge', 'client').context, context);
  });

  check('has no span without a caller that traces, or with one that does it wrong', () => {
    for (const headers of [{}, { traceparent: 'wrong' }]) {
      const spans = createRequestSpans(passOn);
      const request = requestWith(headers);
      spans.begin(request, about);
      assert.is(spans.of(request), undefined);
    }
  });
});

describe('the attributes of a server', (check) => {
  check('are its name and its port, and nothing else of its address', () => {
    assert.equal(serverAttributes('https://user:secret@models.example/v1?key=secret'), {
      'server.address': 'models.example',
      'server.port': 443,
    });
    assert.equal(serverAttributes('http://127.0.0.1:11434'), { 'server.address': '127.0.0.1', 'server.port': 11434 });
  });
});
