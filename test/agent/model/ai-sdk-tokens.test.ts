import * as assert from 'uvu/assert';
import { toFinish, toTokens } from '../../../src/agent/model/ai-sdk-output.ts';
import { addTokens } from '../../../src/agent/model/cost.ts';
import { NO_TOKENS } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';

type Numbers = Partial<Record<'input' | 'read' | 'write' | 'output' | 'reasoning' | 'given', number>>;
const tokens = ({ input, read, write, output, reasoning, given }: Numbers) =>
  toTokens({
    inputTokens: { total: input, cacheRead: read, cacheWrite: write },
    outputTokens: { total: output, reasoning },
    ...(given === undefined ? {} : { raw: { total_tokens: given } }),
  });

describe('the tokens of a step', (check) => {
  check('are counted once each: the input without the cache, the output without the reasoning', () => {
    assert.equal(tokens({ input: 100, read: 30, write: 20, output: 20, reasoning: 5 }), {
      input: 50,
      output: 15,
      reasoning: 5,
      cache: { read: 30, write: 20 },
      total: 120,
    });
  });

  check('have the total that the backend gives, or else the sum', () => {
    assert.is(tokens({ input: 1, output: 2, given: 9 }).total, 9);
    assert.is(tokens({ input: 1, output: 2 }).total, 3);
  });

  check('are never negative, broken or endless, whatever a backend says', () => {
    for (const odd of [-5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const found = tokens({ input: odd, read: odd, write: odd, output: odd, reasoning: odd, given: odd });
      assert.equal(found, { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 }, total: 0 });
    }
    // A session adds them up, and JSON has no endless number.
    const most = tokens({ input: 1e308, read: 1e308, output: 1e308, given: 1e308 });
    const sums = addTokens(addTokens(NO_TOKENS, most), most);
    assert.equal(JSON.parse(JSON.stringify(sums)), sums);
    assert.ok(Number.isFinite(most.total));
    assert.is(tokens({ input: 5, read: 9 }).input, 0);
    assert.is(tokens({ output: 5, reasoning: 9 }).output, 0);
    assert.is(tokens({ output: 1.6 }).output, 2);
  });
});

describe('the end of a step', (check) => {
  check('is reported in the words of the wire', () => {
    for (const word of ['stop', 'length', 'tool-calls', 'content-filter'] as const) {
      assert.is(toFinish(word, undefined, false), word);
    }
    assert.is(toFinish('other', 'eos', false), 'other');
    assert.is(toFinish('something new', 'x', false), 'unknown');
  });

  check('is none when the backend has not said why', () => {
    for (const word of ['interrupted', 'other', 'error']) assert.is(toFinish(word, undefined, false), undefined);
  });

  check('is one of tool calls when there were any, unless they were cut short', () => {
    assert.is(toFinish('stop', 'stop', true), 'tool-calls');
    assert.is(toFinish('length', 'length', true), 'length');
  });
});
