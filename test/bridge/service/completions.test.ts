import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import { type BridgeWorld, prompts, sessionsMade, withBridge } from '../harness/world.ts';

const PATH = '/v1/completions';
const withPolite = (body: (world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: [answering((words) => `re ${words}`)] }, body);

type Completion = { readonly id: string; readonly choices: readonly { readonly text: string }[] };
const completionIn = async (response: Response): Promise<Completion> => {
  assert.is(response.status, 200);
  return (await response.json()) as Completion;
};

describe('a completion', (check) => {
  check('is the answer of a session to the prompt, and says what had no effect', () =>
    withPolite(async (world) => {
      const response = await world.send(PATH, { prompt: 'hi', max_tokens: 16, best_of: 3 });
      assert.is(response.headers.get('x-gatehouse-ignored'), 'best_of, max_tokens');
      const { id, choices } = await completionIn(response);
      assert.match(id, /^cmpl-/);
      assert.is(choices[0]?.text, 're hi');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('is streamed if asked to', () =>
    withPolite(async (world) => {
      const response = await world.send(PATH, { prompt: 'hi', stream: true });
      assert.match(response.headers.get('content-type') ?? '', 'text/event-stream');
      const events = [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)];
      const chunks = events.map(([, data = '']) => JSON.parse(data) as Completion);
      assert.is(chunks.map(({ choices }) => choices[0]?.text).join(''), 're hi');
    }),
  );

  check('is one turn however often it is asked for with one key', () =>
    withPolite(async (world) => {
      const ask = async () => completionIn(await world.send(PATH, { prompt: 'hi' }, { 'idempotency-key': 'one' }));
      const [first, second] = await Promise.all([ask(), ask()]);
      assert.equal([second, prompts(world).length], [first, 1]);
    }),
  );
});

describe('a file', (check) => {
  for (const path of ['/v1/files', '/v1/files/file-1/content', '/v1/uploads', '/v1/uploads/upload_1/parts'])
    check(`at ${path} is not there, and the error says to send the data in the message`, () =>
      withPolite(async (world) => {
        for (const body of [undefined, { purpose: 'user_data' }]) {
          const response = await world.send(path, body);
          assert.is(response.status, 404);
          assert.match(await response.text(), /send the data in the message, as a data: URL/);
        }
      }),
    );
});
