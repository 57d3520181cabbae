import * as assert from 'uvu/assert';
import { isGptOss, isSameModel } from '../../src/llm/model-name.ts';
import { describe } from '../check.ts';

describe("a model's name", (check) => {
  check('is known again in the spelling of every server', () => {
    const pairs = [
      ['gpt-oss:20b', 'gpt-oss:20b'],
      ['gpt-oss:20b', 'gpt-oss:20b-cloud'],
      ['gpt-oss:20b-cloud', 'gpt-oss:20b'],
      ['gpt-oss:20b', 'openai/gpt-oss-20b'],
      ['gpt-oss:20b', 'gpt-oss-20b-mxfp4.gguf'],
      ['openai/gpt-oss-20b', 'gpt-oss-20b'],
      ['models/gpt-oss-20b-MXFP4.gguf', '/srv/models/gpt-oss-20b-mxfp4.gguf'],
      ['gemma4:31b', 'gemma-4-31B-it'],
      ['gemma4', 'gemma4:latest'],
      ['gemma4:latest', 'gemma4'],
      ['gemma4', 'gemma4:cloud'],
      ['gpt-4o', 'gpt-4o-2024-11-20'],
      ['llama3.1:8b', 'llama3.1:8b-instruct-q4_K_M'],
      ['llama3', 'llama3.Q4_K_M.gguf'],
      ['模型-甲', '模型-甲:latest'],
    ] as const;
    for (const [asked, answered] of pairs) assert.ok(isSameModel(asked, answered), `${asked} by ${answered}`);
  });

  check('is not taken for that of another model', () => {
    const pairs = [
      ['gpt-oss:20b', 'gpt-oss:120b'],
      ['gpt-oss:20b', 'gpt-oss'],
      ['gpt-oss:20b', 'my-gpt-oss:20b'],
      ['gpt-oss:20b', 'gemma4:31b'],
      ['gpt-oss:20b', ''],
      ['gpt-oss:20b', 'gpt-oss:20b/tiny'],
      ['gemma4:3', 'gemma4:31b'],
      ['qwen3:1', 'qwen3:14b'],
      ['llama3', 'llama3.1:8b'],
      ['llama3', 'llama31'],
      ['qwen', 'qwen3:8b'],
      ['qwen3', 'qwen3:0.6b'],
      ['llama3', 'llama3-guard:8b'],
      ['模型-甲', '模型-乙'],
    ] as const;
    for (const [asked, answered] of pairs) assert.not.ok(isSameModel(asked, answered), `${asked} by ${answered}`);
  });

  check('without a letter or digit is known only as itself', () => {
    for (const asked of ['', '/', '.gguf', ':latest', '...', '-']) {
      assert.not.ok(isSameModel(asked, 'gpt-oss:20b'), asked);
      assert.ok(isSameModel(asked, asked), asked);
    }
  });

  check('with the signs of a pattern in it is still only a name', () => {
    assert.not.ok(isSameModel('g.*', 'gpt-oss:20b'));
    assert.not.ok(isSameModel('(a|b)[c]', 'b'));
    assert.ok(isSameModel('a+b(c)', 'a+b(c):latest'));
  });

  check('of great length is compared at once', () => {
    const startedAt = performance.now();
    assert.not.ok(isSameModel(`${'a-'.repeat(20_000)}b`, 'a-'.repeat(40_000)));
    assert.ok(performance.now() - startedAt < 1000);
  });

  check('shows the family whose thinking has levels', () => {
    for (const name of [
      'gpt-oss:20b',
      'gpt-oss:120b-cloud',
      'openai/gpt-oss-20b',
      'GPT_OSS-20b',
      'gpt-oss-safeguard:20b',
    ]) {
      assert.ok(isGptOss(name), name);
    }
    for (const name of ['gpt-4o', 'gemma4:31b', 'not-gpt-oss', 'gpt', '']) assert.not.ok(isGptOss(name), name);
  });
});
