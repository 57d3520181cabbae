import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { describe } from '../../../check.ts';
import { asking, CANARY, handling, throwing } from './world.ts';

describe('a bug', (check) => {
  const hidden = (text: string): void => assert.not.match(text, new RegExp(CANARY));
  class CustomError extends Error {
    override readonly name = 'CustomError';
  }
  /** A stack is written when it is first looked at, and keeps the words of that moment. */
  const reworded = (before: string, after: string): Error => {
    const error = new Error(before);
    assert.match(error.stack ?? '', /\n/);
    error.message = after;
    return error;
  };
  const likeAPlace = `${CANARY}\n    at ${CANARY}`;
  const bugs: readonly (readonly [string, unknown, string])[] = [
    ['an error', new TypeError(CANARY), 'TypeError'],
    ['an error of several lines', new Error(`a\n${CANARY}\n`), 'Error'],
    ['an error whose words look like a place', new Error(`a\n    at ${CANARY}\n    at ${CANARY}`), 'Error'],
    ['an error of another class whose words look like a place', new CustomError(`\n  at ${CANARY}`), 'CustomError'],
    ['an error whose words were changed later', reworded('short', likeAPlace), 'Error'],
    ['an error whose words were taken away later', reworded(likeAPlace, 'other words'), 'Error'],
    ['an error with a cause', new Error('a', { cause: new Error(CANARY) }), 'Error'],
    ['an error without a stack', Object.assign(new Error(CANARY), { stack: undefined }), 'Error'],
    ['an error that carries a key', Object.assign(new Error('a'), { apiKey: CANARY }), 'Error'],
    ['several errors', new AggregateError([new Error(CANARY)], CANARY), 'AggregateError'],
    ['an abort', new DOMException(CANARY, 'AbortError'), 'AbortError'],
    ['a text', CANARY, 'string'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'object'],
    ['an object without a prototype', Object.assign(Object.create(null), { message: CANARY }), 'object'],
    ['a symbol', Symbol(CANARY), 'symbol'],
  ];
  for (const [what, thrown, name] of bugs) {
    check(`that throws ${what} is answered with 500 and no detail, and logged without its words`, async () => {
      const { app, lines, logged } = throwing(thrown);
      const response = await app(asking());
      assert.is(response.status, 500);
      const text = await response.text();
      assert.is(JSON.parse(text).error.code, 'internal_error');
      hidden(text + JSON.stringify([...response.headers]));
      hidden(lines.join('\n'));
      const [line] = logged();
      assert.equal([line.level, line.event, line.fault, line.status], ['error', 'request-answered', 'bug', 500]);
      assert.match(line.reason, new RegExp(`^${name} at .`));
    });
  }

  check('is logged with the place where it was thrown', async () => {
    const { app, logged } = handling(function brokenHandler() {
      throw new Error(`a\n    at ${CANARY}`);
    });
    await app(asking());
    assert.match(logged()[0].reason, /^Error at brokenHandler \(.*errors\.test\.ts:\d+:\d+\)$/);
  });

  check('in a promise is answered as one that is thrown', async () => {
    const { app, logged } = handling(() => Promise.reject(new Error(CANARY)));
    assert.is((await app(asking())).status, 500);
    assert.is(logged()[0].fault, 'bug');
  });

  check('that gives no response at all is answered with 500', async () => {
    for (const nothing of [undefined, null, 'text', Response.error()]) {
      const { app, logged } = handling(async () => nothing as unknown as Response);
      assert.is((await app(asking())).status, 500);
      assert.is(logged()[0].fault, 'bug');
    }
  });

  check('in who counts the answers does not change the answer', async () => {
    const { app, lines, logged } = handling(
      async () => new Response('fine'),
      () => {
        throw new Error(CANARY);
      },
    );
    const response = await app(asking('id-1'));
    assert.equal([response.status, await response.text()], [200, 'fine']);
    assert.equal(
      logged().map(({ level, event, requestId }) => [level, event, requestId]),
      [
        ['info', 'request-answered', 'id-1'],
        ['error', 'answer-not-counted', 'id-1'],
      ],
    );
    hidden(lines.join('\n'));
  });
});

describe('a fault', (check) => {
  check('is answered as the table of faults says', async () => {
    const response = await throwing(new Fault({ kind: 'no-backend-key', retryAfterMs: 31_000 })).app(asking());
    assert.is(response.status, 503);
    assert.is(response.headers.get('retry-after'), '31');
    assert.is((await response.json()).error.code, 'no_backend_key');
  });

  const levels: readonly (readonly [Fault, string])[] = [
    [new Fault({ kind: 'unauthorized' }), 'info'],
    [new Fault({ kind: 'client-left' }), 'info'],
    [new Fault({ kind: 'rate-limited', retryAfterMs: 1 }), 'info'],
    [new Fault({ kind: 'backend-timeout' }), 'warn'],
    [new Fault({ kind: 'overloaded', retryAfterMs: 1 }), 'warn'],
  ];
  for (const [fault, level] of levels) {
    check(`${fault.detail.kind} is logged at ${level} by its kind`, async () => {
      const { app, logged } = throwing(fault);
      await app(asking());
      const [line] = logged();
      assert.equal([line.level, line.fault], [level, fault.detail.kind]);
      assert.not('reason' in line);
    });
  }

  check('is logged with its reason, which is in our own words', async () => {
    const { app, logged } = throwing(new Fault({ kind: 'backend-error', reason: 'status 500' }));
    await app(asking());
    assert.is(logged()[0].reason, 'status 500');
  });

  check('never shows in the log what it says of a request', async () => {
    const { app, lines } = throwing(new Fault({ kind: 'bad-input', code: 'c', param: CANARY, message: CANARY }));
    await app(asking());
    assert.not.match(lines.join('\n'), new RegExp(CANARY));
  });
});
