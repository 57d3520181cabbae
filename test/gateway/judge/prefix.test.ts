import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { describe } from '../../check.ts';
import { resultsOf } from '../harness/read-answer.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  nonceOf,
  received,
  systemMessageOf,
  userMessageOf,
} from '../harness/world.ts';

const DIALECTS = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
} as const;

const withoutMessages = ({ body = '' }: HttpRequest): string => {
  const { messages: _, ...rest } = JSON.parse(body) as { messages: unknown };
  return JSON.stringify(rest);
};
const commonPrefix = (left: string, right: string): string => {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return left.slice(0, length);
};

describe('what every call begins with', (check) => {
  for (const [dialect, variables] of Object.entries(DIALECTS)) {
    const callsFor = async (...inputs: readonly string[]): Promise<readonly HttpRequest[]> => {
      const { ask, calls } = gatewayOver(judging(), { variables });
      for (const input of inputs) await resultsOf(await ask({ input }));
      return calls;
    };
    check(`is the same up to the number of the call, which comes first of all that varies: ${dialect}`, async () => {
      const [first, second] = await callsFor('A text.', 'Something else: 我们去公园散步吧');
      assert.ok(first && second);
      assert.is(systemMessageOf(first), systemMessageOf(second));
      // Two numbers may begin with the same digits.
      const shared = commonPrefix(userMessageOf(first), userMessageOf(second)).replace(/\d+$/, '');
      assert.is(shared, userMessageOf(first).slice(0, userMessageOf(first).indexOf(nonceOf(first))));
      assert.is(shared, 'Judge the text between the two marker lines with the number ');
    });
    check(`is three quarters of what is sent besides the text: ${dialect}`, async () => {
      const [call] = await callsFor('A text.');
      assert.ok(call);
      const user = userMessageOf(call);
      const cached = encode(systemMessageOf(call)).length + encode(user.slice(0, user.indexOf(nonceOf(call)))).length;
      const all = encode(systemMessageOf(call)).length + encode(user).length;
      assert.ok(cached >= 850 && cached / all > 0.75, `${cached} of ${all} tokens`);
    });
    check(`is asked for under the same settings and the same schema: ${dialect}`, async () => {
      const calls = await callsFor('A text.', 'Another one.', 'x'.repeat(5000));
      assert.is(new Set(calls.map(withoutMessages)).size, 1);
    });
  }
});

describe('the time for which Ollama holds the model', (check) => {
  const bodyOf = async (variables: Readonly<Record<string, string>>): Promise<Record<string, unknown>> => {
    const { ask, calls } = gatewayOver(judging(), { variables });
    await resultsOf(await ask({ input: 'A text.' }));
    return JSON.parse(calls[0]?.body ?? '') as Record<string, unknown>;
  };
  check('is what is set, and is left to Ollama otherwise', async () => {
    assert.is((await bodyOf({ ...DIALECTS.ollama, JUDGE_KEEP_ALIVE: ' 30m ' })).keep_alive, '30m');
    assert.is((await bodyOf({ ...DIALECTS.ollama, JUDGE_KEEP_ALIVE: '-1' })).keep_alive, -1);
    assert.not.ok('keep_alive' in (await bodyOf(DIALECTS.ollama)));
  });
  check('is not sent to a server of another kind, which may refuse what it does not know', async () => {
    const plain = await bodyOf(DIALECTS.openai);
    const body = await bodyOf({ ...DIALECTS.openai, JUDGE_KEEP_ALIVE: '30m' });
    assert.equal(Object.keys(body), Object.keys(plain));
    for (const name of ['keep_alive', 'cache_prompt', 'prompt_cache_key']) assert.not.ok(name in body, name);
  });
  check('is called a setting without effect where the server is of another kind', async () => {
    const warnings = async (
      variables: Readonly<Record<string, string>>,
      paths: Readonly<Record<string, string>> = {},
    ) => {
      const answer: Answer = (sent) => {
        const listed = paths[new URL(sent.url).pathname];
        if (sent.method === 'GET') return received(listed === undefined ? 404 : 200, listed ?? '');
        return judging()(sent);
      };
      const { ask, logged } = gatewayOver(answer, { variables });
      await resultsOf(await ask({ input: 'A text.' }));
      return logged.filter((line) => line.includes('"setting":"JUDGE_KEEP_ALIVE"')).length;
    };
    const set = { JUDGE_KEEP_ALIVE: '30m' };
    assert.is(await warnings({ ...DIALECTS.openai, ...set }), 1);
    assert.is(await warnings(DIALECTS.openai), 0);
    assert.is(await warnings({ ...DIALECTS.ollama, ...set }), 0);
    const detected = { BACKEND_BASE_URL: 'http://backend.test:8080', ...set };
    assert.is(await warnings(detected, { '/v1/models': '{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}' }), 1);
    assert.is(await warnings(detected, { '/api/version': '{"version":"0.30.0"}' }), 0);
  });
});
