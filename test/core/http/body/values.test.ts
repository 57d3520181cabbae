import * as assert from 'uvu/assert';
import type { Clock } from '../../../../src/core/clock.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { readJson } from '../../../../src/core/http/body.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import { describe, rejection } from '../../../check.ts';

const LIMIT = 50_000;
const signal = new AbortController().signal;
const posting = (body: string): Request => new Request('http://service.test/', { method: 'POST', body });
const read = (body: string): Promise<unknown> => {
  const request = posting(body);
  request.headers.set('content-type', 'application/json');
  return readJson(request, { limitBytes: 8 * 1024 * 1024, signal });
};
/** Five milliseconds later each time, so that two steps are a slice. */
const clockWithTurns = (onTurn: () => void): Clock => {
  let now = 0;
  return {
    now: () => (now += 5),
    after(_delayMs, task) {
      onTurn();
      const timer = setImmediate(task);
      return () => clearImmediate(timer);
    },
  };
};
const largeText = (leaving = signal): Request => {
  const body = JSON.stringify('x'.repeat(1024 * 1024));
  const headers = { 'content-type': 'application/json' };
  return new Request('http://service.test/', { method: 'POST', headers, body, signal: leaving });
};
const refuses = async (body: string): Promise<void> => {
  const thrown = await rejection(read(body));
  assert.instance(thrown, Fault);
  const { detail } = thrown as Fault;
  assert.is(detail.kind === 'bad-input' && detail.code, 'invalid_json');
  assert.match(detail.kind === 'bad-input' ? detail.message : '', `more than ${LIMIT} values`);
};

describe('the number of values in a body', (check) => {
  check('is limited, whatever they are', async () => {
    await refuses(JSON.stringify(Array(LIMIT + 1).fill(1)));
    await refuses(JSON.stringify(Array(LIMIT / 2 + 1).fill({})));
    await refuses('['.repeat(LIMIT + 1) + ']'.repeat(LIMIT + 1));
    await refuses(JSON.stringify(Object.fromEntries(Array.from({ length: LIMIT + 1 }, (_, index) => [index, 0]))));
  });

  check('has nothing to do with what is written in a text', async () => {
    for (const text of ['[,{'.repeat(100_000), '\\",[{'.repeat(50_000), '"'.repeat(70_001), '\\'.repeat(70_001)]) {
      const body = { texts: [text, text], last: [1, 2] };
      assert.equal(await read(JSON.stringify(body)), body);
    }
    const most = Array(LIMIT).fill('[');
    assert.equal(await read(JSON.stringify(most)), most);
  });

  check('is counted in steps, between which other work has its turn', async () => {
    let turns = 0;
    const request = largeText();
    const runInSlices = createTimeSlices(clockWithTurns(() => (turns += 1)));
    await readJson(request, { limitBytes: 2 * 1024 * 1024, signal, runInSlices });
    assert.ok(turns >= 8, `${turns} turns`);
  });

  check('is counted no further when the client has left', async () => {
    const leaving = new AbortController();
    const request = largeText(leaving.signal);
    const runInSlices = createTimeSlices(clockWithTurns(() => leaving.abort()));
    const thrown = await rejection(readJson(request, { limitBytes: 2 * 1024 * 1024, signal, runInSlices }));
    assert.instance(thrown, Fault);
    assert.equal((thrown as Fault).detail, { kind: 'client-left' });
  });
});
