import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering, messagesTo } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeWorld,
  begins,
  createBridgeWorld,
  KEY,
  prompts,
  sessionsMade,
  system,
  user,
  withBridge,
} from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const CHAT = { messages: [user('hi')] };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';

const withPolite = (body: (world: BridgeWorld) => Promise<void>, settings = {}): Promise<void> =>
  withBridge({ scripts: [polite], settings }, body);

type ErrorRow = { readonly message: string; readonly param: string | null; readonly code: string };
const errorOf = async (response: Response) => {
  const { error } = JSON.parse(await response.text()) as { error: ErrorRow };
  return { status: response.status, ...error };
};
const refused = async (world: BridgeWorld, path: string, body: unknown, headers = {}) =>
  errorOf(await world.send(path, body, headers));
const CHAT_PATH = '/v1/chat/completions';
const RESPONSES_PATH = '/v1/responses';

/** A member of a body with so many levels. */
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

const BAD_CHATS: readonly (readonly [unknown, number, string, string | null])[] = [
  ['{"messages":', 400, 'invalid_json', null],
  ['[]', 400, 'invalid_type', null],
  ['"hi"', 400, 'invalid_type', null],
  [`{"messages":[{"role":"user","content":"hi"}],"tools":${nested(64)}}`, 400, 'invalid_value', null],
  [`{"messages":[{"role":"user","content":"hi"}],"tools":${nested(5000)}}`, 400, 'invalid_value', null],
  [{}, 400, 'missing_required_parameter', 'messages'],
  [{ messages: 'hi' }, 400, 'invalid_type', 'messages'],
  [{ messages: [] }, 400, 'empty_array', 'messages'],
  [{ messages: Array.from({ length: 2001 }, () => user('hi')) }, 400, 'invalid_value', 'messages'],
  [
    { messages: [user('hi'), user(Array.from({ length: 1002 }, () => ({ type: 'text', text: 'x' })))] },
    400,
    'invalid_value',
    'messages[1].content',
  ],
  [{ messages: ['hi'] }, 400, 'invalid_type', 'messages[0]'],
  [{ messages: [{ role: 'wizard', content: 'hi' }] }, 400, 'invalid_value', 'messages[0].role'],
  [{ messages: [{ role: 'user', content: 5 }] }, 400, 'invalid_type', 'messages[0].content'],
  [{ messages: [user('')] }, 400, 'invalid_value', 'messages[0].content'],
  [{ messages: [user(' \n ')] }, 400, 'invalid_value', 'messages[0].content'],
  [{ messages: [system(' ')] }, 400, 'invalid_value', 'messages[0].content'],
  [{ messages: [assistant('hello')] }, 400, 'unsupported_value', 'messages[0].role'],
  [{ ...CHAT, n: 2 }, 400, 'unsupported_value', 'n'],
  [{ ...CHAT, model: 5 }, 400, 'invalid_type', 'model'],
  [{ ...CHAT, stream: 'yes' }, 400, 'invalid_type', 'stream'],
  [{ ...CHAT, tool_choice: 'required' }, 400, 'unsupported_value', 'tool_choice'],
  [{ ...CHAT, session_id: {} }, 400, 'invalid_type', 'session_id'],
  [
    { messages: [user([{ type: 'image_url', image_url: { url: 'https://pics.example/a.png' } }])] },
    400,
    'image_url_unsupported',
    'messages[0].content[0].image_url.url',
  ],
];
const BAD_RESPONSES: readonly (readonly [unknown, number, string, string | null])[] = [
  ['nonsense', 400, 'invalid_json', null],
  [`{"input":"hi","metadata":${nested(5000)}}`, 400, 'invalid_value', null],
  [{}, 400, 'missing_required_parameter', 'input'],
  [{ input: [] }, 400, 'empty_array', 'input'],
  [{ input: Array.from({ length: 2001 }, () => user('hi')) }, 400, 'invalid_value', 'input'],
  [{ input: 'hi', background: true, store: false }, 400, 'unsupported_value', 'background'],
  [{ input: 'hi', previous_response_id: 'resp_nobody' }, 400, 'previous_response_not_found', 'previous_response_id'],
  [
    { input: 'hi', previous_response_id: 'x', conversation: 'y' },
    400,
    'mutually_exclusive_parameters',
    'previous_response_id',
  ],
];

describe('a request', (check) => {
  for (const [path, bad] of [
    [CHAT_PATH, BAD_CHATS],
    [RESPONSES_PATH, BAD_RESPONSES],
  ] as const)
    check(`to ${path} that is wrong is refused with the place, and reaches no session`, () =>
      withPolite(async (world) => {
        for (const [body, status, code, param] of bad) {
          const errorText = await refused(world, path, body);
          assert.equal(
            [errorText.status, errorText.code, errorText.param],
            [status, code, param],
            JSON.stringify(body),
          );
        }
        assert.equal([sessionsMade(world), prompts(world)], [[], []]);
        assert.is(world.readings().answersRunning, 0);
      }),
    );

  check('is refused the same way as a stream, before that begins', () =>
    withPolite(async (world) => {
      assert.is((await refused(world, CHAT_PATH, { ...CHAT, stream: true, n: 3 })).code, 'unsupported_value');
      assert.is((await refused(world, CHAT_PATH, { ...CHAT, stream: true, model: 'no/such' })).status, 404);
    }),
  );

  check('that is too large or no JSON is refused', () =>
    withPolite(
      async (world) => {
        const large = await refused(world, CHAT_PATH, { messages: [user('x'.repeat(5000))] });
        assert.equal([large.status, large.code], [413, 'body_too_large']);
        assert.match(large.message, '4096');
        const typed = await refused(world, CHAT_PATH, JSON.stringify(CHAT), { 'content-type': 'text/plain' });
        assert.equal([typed.status, typed.code], [415, 'unsupported_media_type']);
        const odd = await refused(world, CHAT_PATH, CHAT, { 'idempotency-key': 'x'.repeat(300) });
        assert.equal([odd.status, odd.code], [400, 'invalid_idempotency_key']);
        assert.is((await world.chat(CHAT)).text, 're hi');
      },
      { bodyLimitBytes: 4096 },
    ),
  );

  check('that is nested too deep is told how deep it may be, and one at the limit is answered', () =>
    withPolite(async (world) => {
      const body = (levels: number) => `{"messages":[{"role":"user","content":"hi"}],"tools":${nested(levels)}}`;
      assert.match((await refused(world, CHAT_PATH, body(5000))).message, 'at most 64 levels');
      assert.is((await world.send(CHAT_PATH, body(63))).status, 200);
    }),
  );

  check('reports by a header what it has asked for in vain', () =>
    withPolite(async (world) => {
      const { headers } = await world.chat({ ...CHAT, temperature: 0.2, tools: [{ type: 'function' }], user: 'u1' });
      assert.is(headers.get('x-gatehouse-ignored'), 'temperature, tools');
    }),
  );

  check('says nothing of what is in it in any log line', () =>
    withPolite(async (world) => {
      await world.chat({ messages: [user('my very own words')] }, { 'x-session-id': 'my-own-name' });
      await refused(world, CHAT_PATH, '{"messages": "my very own words"');
      const lines = world.logged.join('\n');
      for (const secret of ['my very own words', 'my-own-name', 'key-of-the-first']) assert.not.match(lines, secret);
    }),
  );
});

describe('a response', (check) => {
  check('that is not stored is named by its id, and anything else in place of an id is not', () =>
    withPolite(async (world) => {
      const id = 'resp_000000000000AaBbCcDdEeFfGg_0123456789ab';
      const errorsFor = async (given: string) => {
        const path = `${RESPONSES_PATH}/${encodeURIComponent(given)}`;
        const asked = await refused(world, path, undefined);
        const headers = { authorization: `Bearer ${KEY}` };
        const deletion = new Request(`http://bridge.test${path}`, { method: 'DELETE', headers });
        const deleted = await errorOf(await world.bridge.handler(deletion));
        const onward = await refused(world, RESPONSES_PATH, { input: 'hi', previous_response_id: given });
        return [asked, deleted, onward].map(({ status, message }) => `${status} ${message.split(' for')[0]}`);
      };
      const named = `response "${id}" was not found`;
      assert.equal(await errorsFor(id), [`404 ${named}`, `404 ${named}`, `400 ${named}`]);
      const unnamed = 'this response was not found';
      assert.equal(await errorsFor('br-key-1'), [`404 ${unnamed}`, `404 ${unnamed}`, `400 ${unnamed}`]);
    }),
  );
});

describe('a model', (check) => {
  const modelsOf = (world: BridgeWorld) => begins(world).map(({ body }) => (body as { model: unknown }).model);

  check('is found by its name, by its key alone, or taken for granted', () =>
    withPolite(async (world) => {
      const main = { providerID: 'demo', modelID: 'main' };
      const whole = await world.chat({ ...CHAT, model: 'demo/main' });
      assert.is(whole.json.model, 'demo/main');
      assert.is((await world.chat({ ...CHAT, model: 'main' })).json.model, 'main');
      assert.is((await world.chat(CHAT)).json.model, 'demo/main');
      assert.is((await world.chat({ ...CHAT, model: '' })).text, 're hi');
      assert.equal(modelsOf(world), [main, main, main, main]);
    }),
  );

  check('that there is not is a 404 that names those there are', () =>
    withPolite(async (world) => {
      for (const [path, body] of [
        [CHAT_PATH, { ...CHAT, model: 'gpt-4o' }],
        [RESPONSES_PATH, { input: 'hi', model: 'demo/mian' }],
      ] as const) {
        const { status, code, message, param } = await refused(world, path, body);
        assert.equal([status, code, param], [404, 'model_not_found', 'model']);
        assert.match(message, 'demo/main, demo/small');
      }
      assert.is((await refused(world, '/v1/models/demo%2Fno', undefined)).code, 'model_not_found');
    }),
  );

  check('that there is not is quoted only if it is near to one there is, and never if it is a key', () =>
    withPolite(
      async (world) => {
        for (const [model, says] of [
          ['demo/mian', 'model "demo/mian" is not configured; the nearest is "demo/main". Valid'],
          ['demo/ghost', 'model "demo/ghost" is not configured; the nearest is "demo/main". Valid'],
          ['canary-model', 'this model is not configured. Valid'],
          ...['bk-9f8e7d6c5b4a', 'br-key-1', 'pass-of-agent'].flatMap((key) =>
            [key, `demo/${key}`].map((name) => [name, 'this model is not configured. Valid'] as const),
          ),
        ] as const)
          assert.ok((await refused(world, CHAT_PATH, { ...CHAT, model })).message.startsWith(says), model);
      },
      {
        keys: [KEY, 'bk-9f8e7d6c5b4a', 'br-key-1'],
        agent: { baseUrls: [], credentials: { username: 'opencode', password: 'pass-of-agent' } },
      },
    ),
  );

  check('is listed with the others, and shown by its name as it is or escaped', () =>
    withPolite(async (world) => {
      const list = (await (await world.send('/v1/models')).json()) as { data: { id: string; created: unknown }[] };
      assert.equal(
        list.data.map(({ id }) => id),
        ['demo/main', 'demo/small'],
      );
      assert.type(list.data[0]?.created, 'number');
      for (const path of ['/v1/models/demo/small', '/v1/models/demo%2Fsmall'])
        assert.is(((await (await world.send(path)).json()) as { id: string }).id, 'demo/small');
    }),
  );

  check(
    'that the operator has named goes first, and one that is not there is no surprise at the first word',
    async () => {
      await withPolite(
        async (world) => {
          const list = (await (await world.send('/v1/models')).json()) as { data: { id: string }[] };
          assert.is(list.data[0]?.id, 'demo/small');
        },
        { defaultModel: 'demo/small' },
      );
      const world = await createBridgeWorld({ settings: { defaultModel: 'demo/gone' } });
      assert.is((await refused(world, CHAT_PATH, CHAT)).code, 'model_not_found');
      assert.is((await world.send('/ready')).status, 503);
      await world.stop();
    },
  );

  check('thinks as hard as the client wishes, if it can', () =>
    withPolite(async (world) => {
      await world.chat({ ...CHAT, reasoning_effort: 'high' });
      await world.chat({ ...CHAT, reasoning_effort: 'enormous' });
      await (await world.send(RESPONSES_PATH, { input: 'hi', reasoning: { effort: 'high' } })).text();
      assert.equal(
        begins(world).map(({ body }) => (body as { variant?: string }).variant),
        ['high', undefined, 'high'],
      );
    }),
  );

  check('is told where the model has no variant for the effort', () =>
    withPolite(async (world) => {
      const ignored = async (path: string, body: unknown) => {
        const response = await world.send(path, body);
        await response.text();
        return response.headers.get('x-gatehouse-ignored');
      };
      assert.is(await ignored(CHAT_PATH, { ...CHAT, reasoning_effort: 'high' }), null);
      assert.is(await ignored(CHAT_PATH, { ...CHAT, reasoning_effort: 'none' }), null);
      assert.is(await ignored(CHAT_PATH, { ...CHAT, reasoning_effort: 'enormous' }), 'reasoning_effort');
      const several = { ...CHAT, stream: true, reasoning_effort: 'low', temperature: 0, seed: 1 };
      assert.is(await ignored(CHAT_PATH, several), 'reasoning_effort, seed, temperature');
      assert.is(await ignored(RESPONSES_PATH, { input: 'hi', reasoning: { effort: 'high' } }), null);
      assert.is(await ignored(RESPONSES_PATH, { input: 'hi', reasoning: { effort: 'low' } }), 'reasoning.effort');
    }),
  );
});

describe('the output', (check) => {
  check('with an image reaches the model with it, now and in a history that no session has received', () =>
    withPolite(async (world) => {
      const words = { type: 'text', text: 'what is this?' };
      const asked = user([words, { type: 'image_url', image_url: { url: PNG } }]);
      const first = await world.chat({ messages: [asked] });
      assert.is(first.text, 're what is this?');
      assert.match(messagesTo(world.agent.asked[0]), PNG);
      const on = [asked, assistant(first.text), user('are you sure?')];
      assert.is((await world.chat({ messages: on })).name, first.name);
      const elsewhere = await world.chat({ messages: [asked, assistant('a cat'), user('a dog?')] });
      assert.is.not(elsewhere.name, first.name);
      assert.match(messagesTo(world.agent.asked.at(-1)), PNG);
      await (
        await world.send(RESPONSES_PATH, {
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: 'and this?' },
                { type: 'input_image', image_url: PNG },
              ],
            },
          ],
        })
      ).text();
      assert.match(messagesTo(world.agent.asked.at(-1)), PNG);
    }),
  );

  check('in several messages since the last answer is all answered', () =>
    withPolite(async (world) => {
      await world.chat({ messages: [system('be kind'), user('one'), system('and short'), user('two')] });
      const [request] = world.agent.asked;
      assert.match(messagesTo(request), /one[\s\S]*two/);
      assert.match(request?.system ?? '', /be kind[\s\S]*and short/);
    }),
  );

  check("by a client's own tools is sent as text", () =>
    withPolite(async (world) => {
      const call = { id: 'c1', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } };
      const messages = [
        user('what time is it?'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'noon' },
        user('and in words?'),
      ];
      await world.chat({ messages });
      assert.match(messagesTo(world.agent.asked[0]), /clock[\s\S]*UTC[\s\S]*noon/);
    }),
  );
});
