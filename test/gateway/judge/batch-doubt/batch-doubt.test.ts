import * as assert from 'uvu/assert';
import { SILENT_GATEWAY_METRICS } from '../../../../src/gateway/metrics.ts';
import { CATEGORIES } from '../../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY, type Policy } from '../../../../src/gateway/policy/policy.ts';
import { describe } from '../../../check.ts';
import { batchJson, entryJson, judgingBatches, type Shown, shownIn, textsIn } from '../../harness/batches.ts';
import { judgedBy, parsePolicy } from '../../harness/policies.ts';
import { createReplicas } from '../../harness/replicas.ts';
import { type Answer, gatewayOver, replying, verdictJson } from '../../harness/world.ts';
import { ALONE, batching, clean, each, harassments, INPUT, type Writes } from './world.ts';

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
  check('is logged with the number of the text that it leaves the doubt about', async () => {
    const write = middle(() => entryJson('another nonce'));
    const { ask, logged } = batching((sent) => replying(sent, write(shownIn(sent))));
    await ask({ input: INPUT });
    assert.match(logged.join(), /"reason":"a batch of 3: text 2: /);
  });
  check('is counted, with the texts that were judged alone for it', async () => {
    const counts: unknown[] = [];
    const metrics = { ...SILENT_GATEWAY_METRICS, batch: (...counted: readonly unknown[]) => void counts.push(counted) };
    const beside: Answer = (sent) =>
      replying(
        sent,
        batchJson(
          shownIn(sent).map(({ nonce, text }) =>
            entryJson(nonce, { HR: text.length, word: text.length < 50 ? 'under' : 'over' }),
          ),
        ),
      );
    const { ask } = gatewayOver(
      judgingBatches(beside, () => ALONE),
      { variables: { JUDGE_BATCH: '8' }, needs: { metrics } },
    );
    await ask({ input: ['good morning', 'how are you', 'see you when the sun is up again'] });
    await ask({ input: ['good evening', 'the sun is up again over the hills and the sea behind them'] });
    assert.equal(counts, [
      ['gpt-oss:20b', { judged: 2, judgedAlone: 1 }],
      ['gpt-oss:20b', { judged: 0, judgedAlone: 2 }],
    ]);
  });
  check(
    'is there from where an operator calls a score controversial, also with verdicts that were stored',
    async () => {
      const low: Answer = (sent) =>
        replying(
          sent,
          batchJson(shownIn(sent).map(({ nonce }, index) => entryJson(nonce, { HR: index === 1 ? 12 : 4 }))),
        );
      const categories = { harassment: { threshold: 0.4, controversial: 0.1 } };
      const { shared, verdicts } = createReplicas();
      const asked = async (policy: Policy) => {
        const world = gatewayOver(
          judgingBatches(low, () => ALONE),
          {
            variables: { JUDGE_BATCH: '8' },
            needs: { shared, ...judgedBy(policy).needs },
          },
        );
        return { scores: await harassments(await world.ask({ input: INPUT })), calls: world.calls.map(textsIn) };
      };
      assert.equal((await asked(DEFAULT_POLICY)).scores, [0.04, 0.12, 0.04]);
      assert.ok(verdicts.size > 0);
      const strict = parsePolicy(JSON.stringify({ version: '1', categories }));
      assert.equal(await asked(strict), {
        scores: [0.04, 0.17, 0.04],
        calls: [[...INPUT], [INPUT[1]]],
      });
    },
  );
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
