import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { createJudgePrompts, createVerdictSchema } from '../../../src/gateway/judge/prompt.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { POLICY_WORDS } from '../../../src/gateway/policy/policy-text.ts';
import { describe } from '../../check.ts';
import { REAL_REPLIES, type RealReply } from '../../llm/real-servers.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import {
  type Answer,
  gatewayOver,
  nonceOf,
  promptTokensOf,
  received,
  systemMessageOf,
  userMessageOf,
  verdictJson,
} from '../harness/world.ts';

const DIALECTS = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
} as const;
const countingServers = (): [name: string, server: RealReply][] =>
  Object.entries(REAL_REPLIES).filter(([, { write }]) => JSON.stringify(write('m', '', 777)).includes('777'));

/** A server that judges, and counts the tokens of a prompt in its own way. */
const counting =
  ({ write, headers }: RealReply, tokensOf: (sent: HttpRequest) => number): Answer =>
  (sent) => {
    const { model } = JSON.parse(sent.body ?? '') as { model: string };
    const reply = write(model, verdictJson(nonceOf(sent), { VI: 90 }), tokensOf(sent));
    return received(200, JSON.stringify(reply), headers);
  };
const tokensOf = (text: string): number => Math.ceil(text.length / 4.5);
const TEXT = 'Some words of a text that somebody wrote. '.repeat(20);

describe('a prompt that the judge has not read whole', (check) => {
  for (const [name, server] of countingServers()) {
    const variables = DIALECTS[server.dialect];
    const world = (count: (sent: HttpRequest) => number) => gatewayOver(counting(server, count), { variables });

    check(`is no verdict where the template drops the policy: ${name}`, async () => {
      const { ask, calls, logged } = world((sent) => tokensOf(userMessageOf(sent)));
      for (const input of ['a', TEXT]) {
        const error = await errorOf(await ask({ input }));
        assert.equal([error.status, error.code, error.shouldRetry], [502, 'backend_unusable_reply', 'false']);
        assert.match(error.message, /counts \d+ tokens of a prompt that has \d+ or more: the model's chat template/);
      }
      assert.is(calls.length, 4);
      assert.match(logged.join(), /"verdict-unusable".*chat template drops the policy/);
    });
    check(`is no verdict where the context cuts it: ${name}`, async () => {
      const { ask } = world((sent) => Math.min(2048, promptTokensOf(sent)));
      await resultsOf(await ask({ input: 'short enough' }));
      const error = await errorOf(await ask({ input: 'word '.repeat(4790) }));
      assert.is(`${error.status} ${error.code}`, '502 backend_unusable_reply');
      assert.match(error.message, 'its context cuts the prompt');
    });
    check(`is no verdict where a tokenizer of bytes counts 785 of 3,807: ${name}`, async () => {
      const { ask } = world(() => 785);
      assert.is((await errorOf(await ask({ input: 'word '.repeat(700) }))).code, 'backend_unusable_reply');
    });
  }
});

describe('a server that has read the whole prompt is not refused', (check) => {
  for (const [name, server] of countingServers()) {
    const variables = DIALECTS[server.dialect];
    const once = async (count: (sent: HttpRequest) => number, input: string): Promise<void> => {
      const { ask, logged } = gatewayOver(counting(server, count), { variables });
      await resultsOf(await ask({ input }));
      assert.not.match(logged.join(), '"verdict-unusable"');
    };
    const TEXTS = {
      'short words': 'a b c d '.repeat(2500),
      'one long word': 'x'.repeat(20_000),
      'no words': '- '.repeat(10_000),
      Chinese: '今天天气很好我们去公园散步吧'.repeat(1500),
      'white space': `a${' '.repeat(20_000)}b`,
      'long lines of signs': `${'='.repeat(20_000)} end`,
    };
    for (const [kind, input] of Object.entries(TEXTS)) {
      // The coarsest tokens that there are: 128 equal characters, or one whole word.
      const coarse = (sent: HttpRequest): number => {
        const prompt = systemMessageOf(sent) + userMessageOf(sent);
        return (prompt.match(/[\p{L}\p{N}]\S*/gu) ?? []).length;
      };
      check(`though it counts each word as one token: ${kind}, ${name}`, () => once(coarse, input));
    }
    check(`though its tokens cross words: ${name}`, () => once((sent) => promptTokensOf(sent) * 0.87, TEXT));
    check(`that counts only what its cache does not hold: ${name}`, async () => {
      const seen: string[] = [];
      const uncached = (sent: HttpRequest): number => {
        const prompt = systemMessageOf(sent) + userMessageOf(sent);
        const known = seen.map((earlier) => {
          let same = 0;
          while (same < prompt.length && earlier[same] === prompt[same]) same += 1;
          return same;
        });
        seen.push(prompt);
        return tokensOf(prompt.slice(Math.max(0, ...known)));
      };
      const { ask, calls } = gatewayOver(counting(server, uncached), { variables });
      for (const input of ['first', 'second', TEXT]) await resultsOf(await ask({ input }));
      assert.is(calls.length, 5);
      assert.ok((JSON.parse(calls.at(-1)?.body ?? '') as object) !== null);
      assert.match(systemMessageOf(calls.at(-1)!), /^Call \d{12}\.\n\nYou are/);
      assert.ok(/"(?:format|response_format)":/.test(calls.at(-1)?.body ?? ''), 'still under the schema');
    });
  }
});

describe("the policy's word", (check) => {
  check('stands at the start of the policy, and in no other place of a prompt', async () => {
    const { ask, calls } = gatewayOver(counting(REAL_REPLIES['Ollama 0.17']!, promptTokensOf));
    await resultsOf(await ask({ input: 'some text' }));
    const system = systemMessageOf(calls[0]!);
    for (const word of Object.values(POLICY_WORDS)) {
      assert.ok(system.indexOf(`"${word}"`) < 400, word);
      assert.is(system.split(`"${word}"`).length, 2, word);
      assert.not.match(userMessageOf(calls[0]!), new RegExp(`"${word}"`));
    }
    const user = createJudgePrompts(DEFAULT_POLICY).user({ text: '', part: 1, parts: 1 }, '123456789012', true);
    assert.not.match(user, /"over"|"under"/);
  });
  check('and the number of the call are bounded by the schema, and given away by nothing in it', () => {
    const schema = createVerdictSchema(DEFAULT_POLICY);
    const { word, nonce } = schema.properties as Record<string, { pattern?: string; enum?: unknown }>;
    assert.equal([word?.pattern, nonce?.pattern], ['^[a-z]{4,5}$', '^[0-9]{12}$']);
    for (const each of Object.values(POLICY_WORDS)) {
      assert.match(each, new RegExp(word?.pattern ?? ''));
      assert.not.match(JSON.stringify(schema), each);
    }
  });
});
