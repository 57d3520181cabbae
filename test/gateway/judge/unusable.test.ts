import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { createPrometheusGatewayMetrics } from '../../../src/gateway/adapter/prometheus.ts';
import { describe, sampled } from '../../check.ts';
import { eachCategory, errorOf, resultsOf } from '../harness/read-answer.ts';
import { FINAL_REPLIES, UNUSABLE_CONTENTS, UNUSABLE_REPLIES } from '../harness/unusable-answers.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  keyOf,
  nonceOf,
  replying,
  userMessageOf,
  verdictJson,
} from '../harness/world.ts';

const KEYS = { 'one key': 'backend-key-1', 'three keys': 'backend-key-1,backend-key-2,backend-key-3' };
const DIALECTS = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
} as const;

const everyUnusable = (dialect: 'ollama' | 'openai'): Readonly<Record<string, Answer>> => ({
  ...UNUSABLE_REPLIES[dialect],
  ...Object.fromEntries(
    Object.entries(UNUSABLE_CONTENTS).map(([name, outputText]) => [
      name,
      (sent: HttpRequest) => replying(sent, outputText(nonceOf(sent))),
    ]),
  ),
});

for (const dialect of ['ollama', 'openai'] as const) {
  for (const [keysName, keys] of Object.entries(KEYS)) {
    const variables = { ...DIALECTS[dialect], BACKEND_API_KEYS: keys };

    describe(`an answer of ${dialect} over ${keysName} that holds no verdict`, (check) => {
      for (const [name, answer] of sampled(Object.entries(everyUnusable(dialect)), keysName === 'one key' ? 4 : 1)) {
        check(`ends in 502 after one repair attempt: ${name}`, async () => {
          const { ask, calls } = gatewayOver(answer, { variables });
          const error = await errorOf(await ask({ input: 'some text' }));
          assert.equal([error.status, error.code, error.shouldRetry], [502, 'backend_unusable_reply', 'false']);
          assert.is(calls.length, 2);
          assert.is(new Set(calls.map(keyOf)).size, keysName === 'one key' ? 1 : 2, 'the repair goes to another key');
          assert.is(new Set(calls.map(nonceOf)).size, 2, 'the repair has a nonce of its own');
        });

        check(`is made good by the repair attempt: ${name}`, async () => {
          let asked = 0;
          const { ask, calls } = gatewayOver((sent) => (asked++ === 0 ? answer(sent) : judging({ VI: 90 })(sent)), {
            variables,
          });
          const [result] = await resultsOf(await ask({ input: 'some text' }));
          assert.equal(result?.scores, eachCategory(0, { violence: 0.9 }));
          assert.is(calls.length, 2);
        });
      }
    });
  }
}

describe('the repair attempt', (check) => {
  for (const [name, answer] of Object.entries(FINAL_REPLIES)) {
    check(`is left out where it cannot help: ${name}`, async () => {
      for (const variables of Object.values(DIALECTS)) {
        const { ask, calls } = gatewayOver(answer, { variables });
        const error = await errorOf(await ask({ input: 'some text' }));
        assert.equal([error.status, error.code, error.shouldRetry], [502, 'backend_unusable_reply', 'false']);
        assert.is(calls.length, 1);
      }
    });
  }
  check('says so, and goes without the grammar that may have got in the way', async () => {
    for (const variables of Object.values(DIALECTS)) {
      const { ask, calls } = gatewayOver((sent) => replying(sent, ''), { variables });
      await ask({ input: 'some text' });
      const [first, second] = calls.map(({ body = '' }) => JSON.parse(body) as Record<string, unknown>);
      assert.ok('format' in first! || 'response_format' in first!);
      assert.not.ok('format' in second! || 'response_format' in second!);
      assert.not.match(userMessageOf(calls[0]!), /not valid/);
      assert.match(userMessageOf(calls[1]!), 'An earlier answer was not valid.');
    }
  });
  check('does not take the nonce of the first', async () => {
    const nonces: string[] = [];
    const { ask } = gatewayOver((sent) => {
      nonces.push(nonceOf(sent));
      return nonces.length === 1 ? replying(sent, '') : replying(sent, verdictJson(nonces[0] ?? ''));
    });
    assert.is((await errorOf(await ask({ input: 'some text' }))).code, 'backend_unusable_reply');
  });
  check('is counted by model, and logged without the conversation', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '0.1.0' });
    const { ask, logged } = gatewayOver((sent) => replying(sent, 'canary'), { needs: { metrics: meter } });
    await ask({ input: 'some text' });
    assert.match((await meter.text()) ?? '', 'gatehouse_unusable_replies_total{model="gpt-oss:20b"} 2');
    assert.is(logged.filter((line) => line.includes('"verdict-unusable"')).length, 2);
    assert.not.match(logged.join('\n'), /canary/);
  });
});

describe('a verdict is taken', (check) => {
  const TAKEN: Readonly<Record<string, (verdict: string) => string>> = {
    'as it is': (verdict) => verdict,
    'with white space around it': (verdict) => `\n  ${verdict}\n`,
    'printed on many lines': (verdict) => JSON.stringify(JSON.parse(verdict), null, 2),
    'in a code fence': (verdict) => `\`\`\`\n${verdict}\n\`\`\``,
    'in a code fence that says json': (verdict) => `\`\`\`json\n${verdict}\n\`\`\``,
    'after a think block': (verdict) => `<think>It is rude. {"HR":0}</think>\n${verdict}`,
    'after an empty think block, in a fence': (verdict) => `<think>\n</think>\n\`\`\`json\n${verdict}\n\`\`\``,
    'with its keys in another order': (verdict) =>
      JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(verdict) as object).reverse())),
  };
  for (const [name, wrap] of Object.entries(TAKEN)) {
    check(name, async () => {
      const { ask, calls } = gatewayOver((sent) =>
        replying(sent, wrap(verdictJson(nonceOf(sent), { HR: 85, VIG: 100 }))),
      );
      const [result] = await resultsOf(await ask({ input: 'some text' }));
      assert.equal(result?.scores, eachCategory(0, { harassment: 0.85, 'violence/graphic': 1 }));
      assert.is(calls.length, 1);
    });
  }
  check('from a model that spells its name in another way', async () => {
    const { ask } = gatewayOver((sent) => {
      const { text, ...rest } = judging()(sent) as Awaited<ReturnType<Answer>>;
      return { ...rest, text: text.replace('"gpt-oss:20b"', '"gpt-oss-20b-mxfp4.gguf"') };
    });
    await resultsOf(await ask({ input: 'some text' }));
  });
});
