import * as assert from 'uvu/assert';
import type { EvalAnswer } from '../../src/eval/answer.ts';
import { createVerdictsRequester } from '../../src/eval/ask.ts';
import { EvaluationError } from '../../src/eval/errors.ts';
import { createGroupedRequester } from '../../src/eval/group.ts';
import { describe, rejection } from '../check.ts';
import { createManualClock, GATEWAY, moderationOf, scoresOf, settle } from './world.ts';

const { signal } = new AbortController();
const named = (text: string): EvalAnswer => ({
  kind: 'verdict',
  verdict: { scores: scoresOf({ hate: text.length / 100 }), categories: [], flagged: false },
  gateway: GATEWAY,
});
const grouping = (size: number, request?: (texts: readonly string[]) => Promise<readonly EvalAnswer[]>) => {
  const clock = createManualClock();
  const sent: (readonly string[])[] = [];
  const ask = createGroupedRequester({
    size,
    clock,
    request: async (texts) => {
      sent.push(texts);
      return request === undefined ? texts.map(named) : request(texts);
    },
  });
  return { ask: (text: string) => ask(text, signal), clock, sent };
};

describe('texts that are asked for one by one', (check) => {
  check('go out so many in a request, and each gets its own answer', async () => {
    const { ask, sent } = grouping(2);
    const answers = await Promise.all(['a', 'bb', 'ccc', 'dddd'].map(ask));
    assert.equal(sent, [
      ['a', 'bb'],
      ['ccc', 'dddd'],
    ]);
    assert.equal(answers, ['a', 'bb', 'ccc', 'dddd'].map(named));
  });
  check('go out with fewer when no more come for a moment', async () => {
    const { ask, sent, clock } = grouping(3);
    const first = ask('a');
    clock.advance(49);
    const second = ask('bb');
    clock.advance(49);
    assert.equal(sent, []);
    clock.advance(1);
    assert.equal(await Promise.all([first, second]), [named('a'), named('bb')]);
    assert.equal(sent, [['a', 'bb']]);
    clock.advance(1000);
    assert.is(sent.length, 1, 'nothing is left to send');
  });
  check('share the failure of their request, and an answer that is missing is an error', async () => {
    const failing = grouping(2, () => Promise.reject(new EvaluationError('no')));
    const failures = await Promise.all([rejection(failing.ask('a')), rejection(failing.ask('b'))]);
    assert.ok(failures.every((failure) => failure instanceof EvaluationError));
    const short = grouping(2, async () => [named('a')]);
    assert.equal(await Promise.all([short.ask('a'), short.ask('b')]), [
      named('a'),
      { kind: 'error', code: 'unusable_answer' },
    ]);
  });
});

describe('a request for several texts', (check) => {
  const asking = (response: () => Response) => {
    const bodies: unknown[] = [];
    const fetcher = async (_: unknown, init?: RequestInit) => {
      bodies.push(JSON.parse(String(init?.body)));
      return response();
    };
    const request = createVerdictsRequester({
      url: 'http://gate',
      key: 'sk',
      model: 'm',
      timeoutMs: 1000,
      fetcher: fetcher as typeof fetch,
      clock: createManualClock(),
    });
    return { request: (...texts: string[]) => request(texts, signal), bodies };
  };
  const resultOf = (hate: number) => moderationOf({ hate }).results[0];

  check('is an array, and its results are read in their order', async () => {
    const { request, bodies } = asking(() => Response.json({ results: [resultOf(0.9), resultOf(0.1)] }));
    const answers = await request('a', 'b');
    await settle();
    assert.equal(bodies, [{ model: 'm', input: ['a', 'b'] }]);
    assert.equal(
      answers.map((answer) => answer.kind === 'verdict' && answer.verdict.scores.hate),
      [0.9, 0.1],
    );
  });
  check('has no verdict for any of them when one is missing, too many or at odds with itself', async () => {
    const odd = { ...resultOf(0.9), flagged: false };
    for (const results of [[], [resultOf(0)], [resultOf(0), resultOf(0), resultOf(0)], [resultOf(0), odd]]) {
      const answers = await asking(() => Response.json({ results })).request('a', 'b');
      assert.equal(answers, Array(2).fill({ kind: 'error', code: 'unusable_answer' }));
    }
  });
  check('has one error for all of them', async () => {
    const { request } = asking(() => Response.json({ error: { code: 'backend_error' } }, { status: 502 }));
    assert.equal(await request('a', 'b'), Array(2).fill({ kind: 'error', code: '502 backend_error' }));
  });
});
