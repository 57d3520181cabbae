import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import { assistant, begins, prompts, SHOWN, user, withBridge } from '../harness/world.ts';

const model = (id: string, npm: string) => ({ id, name: id, api: { id, url: '', npm }, limit: { context: 1000 } });
const MODELS = {
  main: model('main', '@ai-sdk/openai-compatible'),
  small: model('small', '@ai-sdk/anthropic'),
};
const WORLD = {
  scripts: [answering(() => 'fine')],
  changes: {
    configViews: {
      ...SHOWN,
      configProviders: { providers: [{ id: 'demo', name: 'Demo', models: MODELS }], default: {} },
    },
  },
};
const WAV = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const WORDS = { type: 'text', text: 'What is said?' };

describe('a file in a request', (check) => {
  check('that the model takes reaches the agent by its data, in chats and responses', () =>
    withBridge(WORLD, async (world) => {
      await world.chat({ model: 'main', messages: [user([WORDS, WAV])] });
      const script = { type: 'input_file', filename: 'a.py', file_data: 'cHJpbnQoKQ==' };
      const input = [user([{ type: 'input_text', text: 'What is this?' }, script])];
      assert.is((await world.send('/v1/responses', { model: 'main', input })).status, 200);
      assert.equal(
        begins(world).map(({ body }) => (body as { input: readonly [{ parts: unknown }] }).input[0].parts),
        [
          [WORDS, { type: 'file', mime: 'audio/wav', url: 'data:audio/wav;base64,AAAA' }],
          [
            { type: 'text', text: 'What is this?' },
            { type: 'file', mime: 'text/plain', filename: 'a.py', url: 'data:text/plain;base64,cHJpbnQoKQ==' },
          ],
        ],
      );
    }),
  );

  check('that the model does not take is a 400 with its place, and nothing is begun', () =>
    withBridge(WORLD, async (world) => {
      const refusedAt = async (path: string, body: object) => {
        const response = await world.send(path, { model: 'small', ...body });
        const { error } = (await response.json()) as { error: { code: string; param: string; message: string } };
        assert.match(error.message, 'this model takes texts, images, PDF');
        return [response.status, error.code, error.param];
      };
      const chat = (...messages: object[]) => refusedAt('/v1/chat/completions', { messages });
      const refused = (param: string) => [400, 'unsupported_value', param];
      assert.equal(await chat(user([WORDS, WAV])), refused('messages[0].content[1].input_audio'));
      assert.equal(
        await chat(user([WAV]), assistant('fine'), user('And now?')),
        refused('messages[0].content[0].input_audio'),
      );
      const recording = { type: 'input_file', filename: 'a.mp3', file_data: 'AAAA' };
      const input = [user([{ type: 'input_text', text: 'What?' }, recording])];
      assert.equal(await refusedAt('/v1/responses', { input }), refused('input[0].content[1]'));
      assert.equal(await refusedAt('/v1/responses', { input, stream: true }), refused('input[0].content[1]'));
      assert.is(prompts(world).length, 0);
    }),
  );
});
