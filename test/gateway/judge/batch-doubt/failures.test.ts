import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { isBatch, shownIn, textsIn } from '../../harness/batches.ts';
import { errorOf } from '../../harness/read-answer.ts';
import { type Answer, gatewayOver, received, replying, verdictJson } from '../../harness/world.ts';
import { ALONE, batching, clean, harassments, INPUT } from './world.ts';

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
  check('is no evidence against the host when it takes too long, for a single text may not', async () => {
    const slowly: Answer = (sent) =>
      new Promise((resolve) => {
        const { nonce = '' } = shownIn(sent)[0] ?? {};
        if (!isBatch(sent)) clock.after(100, () => resolve(replying(sent, verdictJson(nonce, ALONE))));
      });
    const { ask, clock, logged } = gatewayOver(slowly, { variables: { BACKEND_API_KEYS: 'one', JUDGE_BATCH: '2' } });
    const words = ['apple', 'pear', 'plum', 'fig', 'nut', 'bean', 'leek', 'corn', 'oat', 'rye', 'rice', 'kale'];
    const answer = ask({ input: words });
    await clock.advance(15_200);
    assert.equal(await harassments(await answer), Array(12).fill(0.17));
    assert.not.match(logged.join(), 'backend-breaker');
    assert.match(logged.join(), '"a batch of 2: it took too long"');
  });
  check('fails the request where the texts fail alone as well', async () => {
    const { ask } = gatewayOver(() => received(500, ''), { variables: { JUDGE_BATCH: '8' } });
    assert.is((await errorOf(await ask({ input: INPUT }))).code, 'backend_error');
    const lying = gatewayOver((sent) => replying(sent, '{"verdicts":[]}'), { variables: { JUDGE_BATCH: '8' } });
    assert.is((await errorOf(await lying.ask({ input: INPUT }))).code, 'backend_unusable_reply');
  });
});
