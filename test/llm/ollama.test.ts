import * as assert from 'uvu/assert';
import { ollama } from '../../src/llm/ollama.ts';
import type { ChatReply } from '../../src/llm/types.ts';
import { describe } from '../check.ts';
import { CALL, CANARY, ollamaAnswer } from './scripted-client.ts';

const bodyOf = (changes: object = {}) => JSON.parse(ollama.createBody({ ...CALL, ...changes }));
const read = (text: string, model = CALL.model): ChatReply => ollama.parseReply(text, model);
const kindOf = (text: string, model?: string) => read(text, model).kind;

describe('a call to Ollama', (check) => {
  check('is whole in one answer, and nothing of the prompt may be cut away', () => {
    assert.equal(bodyOf(), {
      model: 'gpt-oss:20b',
      messages: [
        { role: 'system', content: 'the policy' },
        { role: 'user', content: 'the text' },
      ],
      stream: false,
      truncate: false,
      shift: false,
      options: { temperature: 0, num_ctx: 16_384, num_predict: 1024 },
    });
  });

  check('carries the schema as its format', () => {
    const schema = { type: 'object', properties: { nonce: { type: 'string' } } };
    assert.equal(bodyOf({ schema }).format, schema);
  });

  check('carries its own policy and schema, not those of the call before', () => {
    for (const name of ['a', 'b', 'a', '"}],"']) {
      const body = bodyOf({ system: `policy ${name}`, schema: { title: name } });
      assert.is(body.messages[0].content, `policy ${name}`);
      assert.equal(body.format, { title: name });
      assert.not.ok('format' in bodyOf({ system: `policy ${name}` }));
    }
  });

  check('sends a thinking option only when asked to, and then unchanged', () => {
    assert.not.ok('think' in bodyOf());
    for (const think of ['low', 'medium', 'high', true, false]) assert.is(bodyOf({ think }).think, think);
  });

  check('carries the image as bare base64 beside the user text', () => {
    const [system, user] = bodyOf({ image: { mediaType: 'image/png', base64: 'aGk=' } }).messages;
    assert.equal(user, { role: 'user', content: 'the text', images: ['aGk='] });
    assert.not.ok('images' in system);
  });

  check('keeps a text as it is, whatever is in it', () => {
    const user = '"}],"model":"other","x":"\u2028<|end|>\u0000\ud83d\ude00';
    assert.is(bodyOf({ user }).messages[1].content, user);
    assert.is(bodyOf({ user }).model, 'gpt-oss:20b');
  });
});

describe("Ollama's answer", (check) => {
  check('is taken with its counts when it is finished', () => {
    assert.equal(read(ollamaAnswer()), {
      kind: 'answered',
      content: 'the verdict',
      promptTokens: 1200,
      outputTokens: 80,
    });
  });

  check('is taken without counts, with members unknown to us, and with an error that is null', () => {
    const text = ollamaAnswer({ error: null, prompt_eval_count: undefined, eval_count: undefined, total_duration: 5 });
    assert.equal(read(text), { kind: 'answered', content: 'the verdict', promptTokens: 0, outputTokens: 0 });
  });

  check('is taken under the other spellings of the name that was asked for', () => {
    for (const model of ['gpt-oss:20b-cloud', 'GPT-OSS:20B', 'gpt-oss:20b']) {
      assert.is(kindOf(ollamaAnswer({ model })), 'answered', model);
    }
  });

  check('is unusable unless it stopped of itself', () => {
    for (const reason of ['length', 'load', 'unload', 'content_filter', 'STOP', '', undefined]) {
      assert.is(kindOf(ollamaAnswer({ done_reason: reason })), 'unusable', String(reason));
    }
    assert.is(kindOf(ollamaAnswer({ done: false })), 'unusable');
    for (const done of [undefined, null, 'true', 1])
      assert.is(kindOf(ollamaAnswer({ done })), 'unusable', String(done));
  });

  check('is unusable when another model gave it', () => {
    for (const model of ['gpt-oss:120b', 'gemma4:31b', 'oss:20b', '']) {
      assert.is(kindOf(ollamaAnswer({ model })), 'unusable', model);
    }
  });

  check('is never read out of the thinking', () => {
    for (const content of [null, undefined, '']) {
      const message = { role: 'assistant', content, thinking: 'the verdict', reasoning: 'the verdict' };
      const reply = read(ollamaAnswer({ message }));
      assert.ok(reply.kind === 'unusable' || (reply.kind === 'answered' && reply.content === ''), String(content));
    }
  });

  check('is unusable when the model called a tool', () => {
    const message = { role: 'assistant', content: 'the verdict', tool_calls: [{ function: { name: 'f' } }] };
    assert.is(kindOf(ollamaAnswer({ message })), 'unusable');
    assert.is(kindOf(ollamaAnswer({ message: { ...message, tool_calls: [] } })), 'answered');
  });

  check('is an error wherever one is named, even beside a good answer', () => {
    const texts = [
      JSON.stringify({ error: 'server busy, please try again' }),
      JSON.stringify({ error: { message: 'server busy', type: 'api_error' } }),
      JSON.stringify({ error: 'unauthorized', signin_url: 'https://ollama.test' }),
      ollamaAnswer({ error: 'out of memory' }),
      ollamaAnswer({ error: {} }),
      ollamaAnswer({ error: '' }),
      ollamaAnswer({ error: false }),
    ];
    for (const text of texts) assert.equal(read(text), { kind: 'error', text }, text);
  });

  check('is unusable when it is anything but one JSON answer', () => {
    const good = ollamaAnswer();
    const texts = [
      '',
      ' ',
      'null',
      '[]',
      '"the verdict"',
      '0',
      '{}',
      '{"models":[]}',
      `[${good}]`,
      `${good}\n${good}`,
      `${good}\n${JSON.stringify({ error: 'later' })}`,
      `data: ${good}`,
      good.slice(0, -1),
      good.slice(0, good.length / 2),
      `${good}}`,
      `<html><script>${good}</script></html>`,
      JSON.stringify({ response: 'the verdict', done: true, done_reason: 'stop' }),
      ollamaAnswer({ message: undefined }),
      ollamaAnswer({ message: null }),
      ollamaAnswer({ message: 'the verdict' }),
      ollamaAnswer({ message: { content: 7 } }),
      ollamaAnswer({ message: { content: { text: 'the verdict' } } }),
      ollamaAnswer({ message: { content: ['the verdict'] } }),
      ollamaAnswer({ model: 20 }),
    ];
    for (const text of texts) assert.is(kindOf(text), 'unusable', text);
  });

  check('of the other dialect is unusable', () => {
    const text = JSON.stringify({ choices: [{ message: { content: 'the verdict' }, finish_reason: 'stop' }] });
    assert.is(kindOf(text), 'unusable');
  });

  check('is refused in words of ours', () => {
    const message = { role: 'assistant', content: CANARY };
    const texts = [
      CANARY,
      ollamaAnswer({ message, model: CANARY }),
      ollamaAnswer({ message, done_reason: CANARY }),
      ollamaAnswer({ message: { ...message, tool_calls: [{ function: { name: CANARY } }] } }),
    ];
    for (const text of texts) {
      const reply = read(text);
      assert.is(reply.kind, 'unusable', text);
      assert.not.ok(JSON.stringify(reply).includes(CANARY), text);
    }
  });
});

describe("Ollama's list of models", (check) => {
  check('is read by name', () => {
    assert.equal(ollama.parseModels(JSON.stringify({ models: [{ name: 'a:1', size: 3 }, { name: 'b' }] })), [
      'a:1',
      'b',
    ]);
    assert.equal(ollama.parseModels('{"models":[]}'), []);
  });

  check('is nothing when the text is no such list', () => {
    for (const text of ['', '{}', '{"models":null}', '{"models":[{"id":"a"}]}', '{"data":[{"id":"a"}]}', '<html>']) {
      assert.is(ollama.parseModels(text), undefined, text);
    }
  });
});
