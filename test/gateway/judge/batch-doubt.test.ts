import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { HttpResponse } from '../../../src/core/http/client.ts';
import { parseBatch } from '../../../src/gateway/judge/batch-verdict.ts';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { describe, thorough } from '../../check.ts';
import { batchJson, entryJson, isBatch, judgingBatches, type Shown, shownIn, textsIn } from '../harness/batches.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { type Answer, gatewayOver, received, replying, verdictJson } from '../harness/world.ts';

const INPUT = ['good morning', 'how are you', 'see you soon'] as const;
/** What the judge finds in a text that it is shown alone. */
const ALONE = { HR: 17 };
const batching = (beside: Answer, variables: Readonly<Record<string, string>> = {}) =>
  gatewayOver(
    judgingBatches(beside, () => ALONE),
    { variables: { JUDGE_BATCH: '8', ...variables } },
  );
const harassments = async (response: Response) => (await resultsOf(response)).map(({ scores }) => scores.harassment);

type Writes = (shown: readonly Shown[]) => string;
const each =
  (write: (one: Shown, index: number) => string): Writes =>
  (shown) =>
    batchJson(shown.map(write));
const clean = each(({ nonce }) => entryJson(nonce));
/** Everything right, but for the middle one. */
const middle = (write: (nonce: string) => string): Writes =>
  each(({ nonce }, index) => (index === 1 ? write(nonce) : entryJson(nonce)));
const noncesOf = (shown: readonly Shown[]): readonly string[] => shown.map(({ nonce }) => nonce);

/** Answers to a batch of three that are no proof for any of the texts. */
const DOUBTFUL: Readonly<Record<string, Writes>> = {
  'no answer': () => '',
  prose: () => 'All three texts are harmless.',
  'prose before it': (shown) => `Here you are: ${clean(shown)}`,
  'one verdict for all': ([first]) => verdictJson(first?.nonce ?? ''),
  'a bare list': (shown) =>
    `[${noncesOf(shown)
      .map((nonce) => entryJson(nonce))
      .join()}]`,
  'one object after the other': (shown) =>
    noncesOf(shown)
      .map((nonce) => verdictJson(nonce))
      .join('\n'),
  'an empty list': () => '{"verdicts":[]}',
  'no list': () => '{"verdicts":"under"}',
  'a missing entry': (shown) =>
    batchJson(
      noncesOf(shown)
        .slice(1)
        .map((nonce) => entryJson(nonce)),
    ),
  'an entry too many': (shown) =>
    batchJson([...noncesOf(shown), noncesOf(shown)[0] ?? ''].map((nonce) => entryJson(nonce))),
  'an entry that is null': middle(() => 'null'),
  'an entry that is a text': middle((nonce) => JSON.stringify(entryJson(nonce))),
  'an entry in a list': middle((nonce) => `[${entryJson(nonce)}]`),
  'swapped entries': (shown) =>
    batchJson(
      noncesOf(shown)
        .toReversed()
        .map((nonce) => entryJson(nonce)),
    ),
  'the number of another text': (shown) => batchJson(noncesOf(shown).map(() => entryJson(noncesOf(shown)[0] ?? ''))),
  'a number of its own': middle(() => entryJson('000000000000')),
  'no number': middle((nonce) => entryJson(nonce).replace(`"nonce":"${nonce}",`, '')),
  'two numbers in one entry': middle((nonce) => entryJson(nonce).replace('"HR"', '"nonce":"000000000000","HR"')),
  'a missing score': middle((nonce) => entryJson(nonce).replace('"VI":0,', '')),
  'a missing score, and another one twice': middle((nonce) => entryJson(nonce).replace('"VI":0,', '"HA":0,')),
  'a score that stands twice': middle((nonce) => entryJson(nonce, { HR: 90 }).replace('}', ',"HR":0}')),
  'a score as a text': middle((nonce) => entryJson(nonce, { HR: '0' })),
  'a score of 0.5': middle((nonce) => entryJson(nonce, { HR: 0.5 })),
  'a score of 1.0': middle((nonce) => entryJson(nonce).replace('"HR":0', '"HR":1.0')),
  'a score of 101': middle((nonce) => entryJson(nonce, { HR: 101, word: 'over' })),
  'a score of null': middle((nonce) => entryJson(nonce, { HR: null })),
  'a scale of 0 to 1': middle((nonce) => entryJson(nonce, { HR: 1 })),
  'a scale of 0 to 10': middle((nonce) => entryJson(nonce, { HR: 9, word: 'over' })),
  'a word for less than its scores': middle((nonce) => entryJson(nonce, { HR: 80, word: 'under' })),
  'no word': middle((nonce) => entryJson(nonce).replace(',"word":"under"', '')),
  'a word of its own': middle((nonce) => entryJson(nonce, { word: 'safe' })),
  'another key': middle((nonce) => entryJson(nonce, { flagged: false })),
  'a key beside the list': (shown) => clean(shown).replace(/\}$/, ',"flagged":false}'),
  'two lists': (shown) => clean(shown).replace(/\}$/, `,"verdicts":${clean(shown).slice('{"verdicts":'.length)}`),
  'half of it': (shown) => clean(shown).slice(0, -40),
};

describe('an answer to several texts that leaves a doubt', (check) => {
  for (const [name, write] of Object.entries(DOUBTFUL)) {
    check(`gives no verdict, and each text is judged alone: ${name}`, async () => {
      const { ask, calls, logged } = batching((sent) => replying(sent, write(shownIn(sent))));
      assert.equal(await harassments(await ask({ input: INPUT })), [0.17, 0.17, 0.17]);
      assert.equal(calls.map(textsIn), [[...INPUT], ...INPUT.map((text) => [text])]);
      assert.match(logged.join(), /"verdict-unusable".*"reason":"a batch of 3: /);
      for (const text of INPUT) assert.not.match(logged.join(), text);
    });
  }
  check('is none for what a judge writes: a whole answer in its order', async () => {
    for (const write of [
      clean,
      (shown: readonly Shown[]) => `<think>hm</think>\n\`\`\`json\n${clean(shown)}\n\`\`\``,
    ]) {
      const { ask, calls } = batching((sent) => replying(sent, write(shownIn(sent))));
      assert.equal(await harassments(await ask({ input: INPUT })), [0, 0, 0]);
      assert.is(calls.length, 1);
    }
  });
});

const cut: Answer = (sent) => {
  const whole = replying(sent, clean(shownIn(sent)));
  return received(200, whole.text.replace('"done_reason":"stop"', '"done_reason":"length"'));
};
const FAILURES: Readonly<Record<string, Answer>> = {
  'was cut off': cut,
  'was counted too short': (sent) => {
    const { text } = replying(sent, clean(shownIn(sent)));
    return received(200, text.replace(/"prompt_eval_count":\d+/, '"prompt_eval_count":100'));
  },
  'is of another model': (sent) =>
    received(200, replying(sent, clean(shownIn(sent))).text.replace('gpt-oss:20b', 'other')),
  'is a refusal of the schema': () => received(400, '{"error":"invalid format"}'),
  'is an error of the server': () => received(500, '{"error":"grammar"}'),
  'is a page': () => received(200, '<html>'),
  'is missing as the model is': () => received(404, '{"error":"model not found"}'),
};

describe('a call for several texts that fails', (check) => {
  for (const [name, answer] of Object.entries(FAILURES)) {
    check(`is no verdict, and each text is judged alone: its answer ${name}`, async () => {
      const { ask, calls } = batching(answer);
      assert.equal(await harassments(await ask({ input: INPUT })), [0.17, 0.17, 0.17]);
      assert.equal(
        calls.filter((call) => !isBatch(call)).map(textsIn),
        INPUT.map((text) => [text]),
      );
    });
  }
  check('leaves time for the texts to be judged alone when it hangs', async () => {
    const { ask, calls, clock } = batching(() => new Promise(() => {}), {
      BACKEND_API_KEYS: 'only-key',
      REQUEST_DEADLINE_MS: '20000',
    });
    const answer = ask({ input: INPUT });
    await clock.advance(11_999);
    assert.is(calls.length, 1);
    await clock.advance(1);
    assert.equal(await harassments(await answer), [0.17, 0.17, 0.17]);
    assert.is(calls[0]?.signal.aborted, true);
    await clock.advance(0);
    assert.is(clock.pending(), 0);
  });
  check('fails the request where the texts fail alone as well', async () => {
    const { ask } = gatewayOver(() => received(500, ''), { variables: { JUDGE_BATCH: '8' } });
    assert.is((await errorOf(await ask({ input: INPUT }))).code, 'backend_error');
    const lying = gatewayOver((sent) => replying(sent, '{"verdicts":[]}'), { variables: { JUDGE_BATCH: '8' } });
    assert.is((await errorOf(await lying.ask({ input: INPUT }))).code, 'backend_unusable_reply');
  });
});

describe('a verdict that was given beside others', (check) => {
  const scored =
    (scores: readonly number[]): Answer =>
    (sent) =>
      replying(sent, each(({ nonce }, index) => entryJson(nonce, { HR: scores[index] }))(shownIn(sent)));

  check('never says that a text is a violation: then each text is judged alone', async () => {
    const { ask, calls, logged } = batching(scored([0, 90, 5]));
    assert.equal(await harassments(await ask({ input: INPUT })), [0.17, 0.17, 0.17]);
    assert.equal(calls.map(textsIn), [[...INPUT], ...INPUT.map((text) => [text])]);
    assert.not.match(logged.join(), 'verdict-unusable');
  });
  check('never says that a text is doubtful: then that text is judged alone', async () => {
    const { ask, calls } = batching(scored([24, 25, 5]));
    assert.equal(await harassments(await ask({ input: INPUT })), [0.24, 0.17, 0.05]);
    assert.equal(calls.map(textsIn), [[...INPUT], [INPUT[1]]]);
  });
  check('is so for every category', async () => {
    for (const { code } of CATEGORIES) {
      const { ask, calls } = batching((sent) =>
        replying(sent, each(({ nonce }, index) => entryJson(nonce, index === 2 ? { [code]: 50 } : {}))(shownIn(sent))),
      );
      assert.equal(await harassments(await ask({ input: INPUT })), [0.17, 0.17, 0.17]);
      assert.is(calls.length, 4, code);
    }
  });
});

/** What a judge may do to the right answer. */
type Change = {
  readonly drop?: number;
  readonly swap?: readonly [number, number];
  readonly renumber?: readonly [number, string];
  readonly word?: readonly [number, string];
  readonly cut?: number;
  readonly double?: number;
};

describe('whatever a judge writes about several texts', (check) => {
  const at = fc.nat(4);
  const change: fc.Arbitrary<Change> = fc.record(
    {
      drop: at,
      swap: fc.tuple(at, at),
      renumber: fc.tuple(at, fc.stringMatching(/^\d{12}$/)),
      word: fc.tuple(at, fc.constantFrom('over', 'under', 'safe', '')),
      cut: fc.nat(400),
      double: at,
    },
    { requiredKeys: [] },
  );
  const score = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 2, max: 24 }) }, fc.integer({ min: 0, max: 100 }));
  const given = fc.array(fc.array(score, { minLength: 13, maxLength: 13 }), { minLength: 5, maxLength: 5 });

  const write = (nonces: readonly string[], scores: readonly (readonly number[])[], changes: Change): string => {
    const entries = nonces.map((nonce, index) => {
      const byCode = Object.fromEntries(CATEGORIES.map(({ code }, place) => [code, scores[index]?.[place]]));
      const [renumbered, other] = changes.renumber ?? [];
      const [worded, word] = changes.word ?? [];
      return entryJson(renumbered === index && other !== undefined ? other : nonce, {
        ...byCode,
        ...(worded === index ? { word } : {}),
      });
    });
    const { swap, drop, double, cut: length } = changes;
    if (swap !== undefined) {
      const [left, right] = swap;
      [entries[left], entries[right]] = [entries[right] ?? '', entries[left] ?? ''];
    }
    if (double !== undefined) entries.splice(double, 0, entries[double] ?? '');
    if (drop !== undefined) entries.splice(drop, 1);
    const whole = batchJson(entries);
    return length === undefined ? whole : whole.slice(0, -1 - length);
  };
  const TEXTS = ['one apple', 'two pears', 'red cherries', 'a plum', 'some figs'] as const;
  const SINGLE = 0.17;

  check('a text gets the scores that were given for its own number, or those that it gets alone', async () => {
    await fc.assert(
      fc.asyncProperty(given, fc.option(change, { nil: {} }), async (scores, changes) => {
        let written = '';
        const { ask, calls } = gatewayOver(
          judgingBatches(
            (sent): HttpResponse => {
              written = write(noncesIn(sent), scores, changes);
              return replying(sent, written);
            },
            () => Object.fromEntries(CATEGORIES.map(({ code }) => [code, 17])),
          ),
          { variables: { JUDGE_BATCH: '16' } },
        );
        const results = await resultsOf(await ask({ input: TEXTS }));
        assert.is(results.length, TEXTS.length);
        const nonces = noncesIn(calls[0]);
        const isWhole = parseBatch(written, nonces).kind === 'scores';
        const isRight = written === write(nonces, scores, {});
        assert.ok(!isWhole || isRight, 'only the right answer is whole');
        for (const [index, { category_scores: got }] of results.entries()) {
          const values = CATEGORIES.map(({ name }) => got[name]);
          const own = scores[index]?.map((value) => value / 100);
          const isAlone = values.every((value) => value === SINGLE);
          if (!isAlone) assert.equal(values, own, `text ${index}`);
          assert.ok(isAlone || isWhole);
          assert.is(
            isAlone,
            calls.slice(1).some((call) => textsIn(call)[0] === TEXTS[index]),
          );
        }
      }),
      { numRuns: thorough(150, 3000) },
    );
  });
  const noncesIn = (sent: Parameters<typeof shownIn>[0] | undefined): readonly string[] =>
    sent === undefined ? [] : noncesOf(shownIn(sent));

  check('nothing is read as scores but so many whole verdicts', () => {
    const nonces = ['111111111111', '222222222222'];
    const right = batchJson(nonces.map((nonce) => entryJson(nonce, { HR: 5 })));
    assert.is(parseBatch(right, nonces).kind, 'scores');
    fc.assert(
      fc.property(fc.nat(right.length - 1), fc.string({ maxLength: 3 }), fc.nat(3), (place, text, length) => {
        const changed = right.slice(0, place) + text + right.slice(place + length);
        const read = parseBatch(changed, nonces);
        if (read.kind === 'unusable') return;
        assert.is(read.scores.length, 2);
        for (const scores of read.scores) {
          assert.is(scores.length, 13);
          for (const value of scores) assert.ok(value >= 0 && value <= 1);
        }
        const [first, second] = (JSON.parse(changed) as { verdicts: { nonce: string }[] }).verdicts;
        assert.equal([first?.nonce, second?.nonce], nonces);
      }),
      { numRuns: thorough(2000, 50_000) },
    );
  });
});
