import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { describe } from '../../check.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, judging, nonceOf, systemMessageOf, userMessageOf } from '../harness/world.ts';

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

describe('what a server may hold of a prompt', (check) => {
  check('is left to the server: no field is sent for it', async () => {
    for (const dialect of Object.values(DIALECTS)) {
      const { ask, calls } = gatewayOver(judging(), { variables: dialect });
      await resultsOf(await ask({ input: 'A text.' }));
      for (const name of ['keep_alive', 'cache_prompt', 'prompt_cache_key'])
        assert.not.ok(name in JSON.parse(calls[0]?.body ?? ''), name);
    }
  });
});
