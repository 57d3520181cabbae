import fc from 'fast-check';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AgentEventRecord, readAgentEvent } from '../../../src/bridge/agent/schema.ts';
import { isRecord, parseJsonValue } from '../../../src/core/json.ts';
import { describe, thorough } from '../../check.ts';
import { codePoint } from '../../code-points.ts';

/** Mostly as a delta has it, else anything that JSON can hold. */
const often = (value: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 8, arbitrary: value },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
const anyId = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'x'.repeat(200), 'x'.repeat(201), '\ud83d', '__proto__', 'é'.repeat(200)),
  },
);
const anyProperties = fc.record({
  sessionID: often(anyId),
  messageID: often(anyId),
  partID: often(anyId),
  field: often(fc.constantFrom('text', 'metadata', '')),
  delta: often(fc.string({ unit: codePoint })),
  more: fc.option(fc.jsonValue(), { nil: undefined }),
});
const anyDelta = fc.record({
  type: fc.constant('message.part.delta'),
  properties: fc.oneof({ weight: 20, arbitrary: anyProperties }, { weight: 1, arbitrary: fc.jsonValue() }),
  id: fc.option(fc.string(), { nil: undefined }),
});

describe('a delta of a text', (check) => {
  check('is read without the schema as with it, whatever it holds', () => {
    let fitting = 0;
    fc.assert(
      fc.property(anyDelta, (delta) => {
        const value = parseJsonValue(JSON.stringify(delta));
        if (!isRecord(value)) throw new Error('no event');
        const read = v.safeParse(AgentEventRecord, value);
        if (read.success) fitting += 1;
        assert.equal(readAgentEvent(value), read.success ? read.output : undefined);
      }),
      { numRuns: thorough(333, 2000) },
    );
    assert.ok(fitting > 100, `${fitting} of them fit`);
  });
});
