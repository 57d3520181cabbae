import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import { createBackendWorld, failing, GOOD } from '../backend-world.ts';
import { CANARY, ollamaAnswer, reset, type Step } from '../scripted-client.ts';

const STEPS: Readonly<Record<string, Step>> = {
  good: GOOD,
  hangs: 'silence',
  resets: reset(),
  cut: { text: ollamaAnswer({ done_reason: 'length' }) },
  html: { text: `<html>${CANARY}</html>` },
  disguised: failing(200),
  ...Object.fromEntries([204, 302, 400, 401, 402, 403, 404, 408, 413, 429, 500, 503].map((s) => [s, failing(s)])),
};
const aStep = fc.constantFrom(...Object.keys(STEPS));
const aQuestion = fc.record({
  script: fc.array(aStep, { minLength: 4, maxLength: 4 }),
  afterMs: fc.constantFrom(0, 1, 4_000, 6_000, 900_000),
  deadlineMs: fc.constantFrom(1, 3_000, 9_000, 25_000),
  leavesAfterMs: fc.option(fc.constantFrom(0, 100, 9_000)),
  avoids: fc.option(fc.constantFrom('a', 'b', 'c')),
});

describe('any run of questions over any failures', (check) => {
  check('takes only a finished answer for one, each key once, and leaves nothing behind', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom('a', 'ab', 'abc'),
        fc.array(aQuestion, { minLength: 1, maxLength: 6 }),
        async (keys, questions) => {
          let script: readonly string[] = [];
          let first = 0;
          const world = createBackendWorld({
            keys,
            script: (_sent, index) => STEPS[script[index - first] ?? ''] ?? (new TypeError('asked too often') as Step),
          });
          for (const question of questions) {
            await world.clock.advance(question.afterMs);
            script = question.script;
            first = world.calls.length;
            const client = new AbortController();
            const avoid = question.avoids === null ? undefined : world.key(question.avoids);
            const asked = world.ask(question.deadlineMs, client.signal, avoid).catch((error: unknown) => error);
            if (question.leavesAfterMs !== null) {
              await world.clock.advance(question.leavesAfterMs);
              client.abort();
            }
            await world.clock.advance(question.deadlineMs);
            const result = await asked;
            const steps = script.slice(0, world.calls.length - first);
            const order = world.order().slice(first);

            assert.is(new Set(order).size, order.length, `a key was asked twice: ${order}`);
            if (avoid !== undefined && order.includes(avoid.fingerprint)) assert.ok(order.endsWith(avoid.fingerprint));
            const text = JSON.stringify(result, (name, value) => (name === 'secret' ? undefined : value));
            assert.not.match(text + world.traces(), CANARY);
            assert.not.match(world.traces(), 'secret-');
            const isAnswered = text.includes('"reply":{"kind":"answered"');
            assert.is(isAnswered, steps.at(-1) === 'good' && !(result instanceof Fault), text);
            assert.ok(result instanceof Fault || (result as { kind: string }).kind.length > 0);
            assert.not.ok(world.ends().includes('running'));
            assert.not.ok(world.states().includes('probing'));
            assert.is(world.clock.pending(), 0);
          }
        },
      ),
      { numRuns: 300 },
    ),
  );

  check('at the same moment leaves no key on trial and no answer that was none', () =>
    fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 30, maxLength: 30 }), async (script) => {
        const world = createBackendWorld({ keys: 'abc', script: (_sent, index) => STEPS[script[index] ?? ''] ?? GOOD });
        for (let round = 0; round < 3; round++) {
          const asked = Promise.allSettled(Array.from({ length: 5 }, () => world.ask()));
          await world.clock.advance(25_000);
          const answers = await asked;
          const answered = answers.filter(
            ({ status, ...rest }) =>
              status === 'fulfilled' && JSON.stringify(rest).includes('"reply":{"kind":"answered"'),
          );
          const good = world.calls.filter(
            ({ end }, index) => end === 'answered' && (STEPS[script[index] ?? ''] ?? GOOD) === GOOD,
          );
          assert.ok(answered.length <= good.length);
          assert.not.ok(world.states().includes('probing'));
          assert.is(world.clock.pending(), 0);
        }
      }),
      { numRuns: 100 },
    ),
  );
});
