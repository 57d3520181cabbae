import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from 'openai';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { awaitedLater } from '../agent/process.ts';
import { isNoTitle, messagesOf, until } from '../agent/world.ts';
import { callsIn, scriptSlowTool } from '../bridge-clients/slow-tool.ts';
import { asked, countedFetch, newText, sessionsOf, TOOL } from './clients.ts';
import { BRIDGE_KEY, type BridgeProcess, type BridgeWorld, sharedBridgeWorld } from './world.ts';

const MODEL = 'demo/main';
/** Shorter than a client waits before it tries again, so that it counts as gone. */
const beside = sharedBridgeWorld({ bridge: { BRIDGE_ON_DISCONNECT: '200' } });
/** Says a little and then nothing, until nobody listens. */
const HANGING = answer([...text('so far '), { kind: 'hang' }]);

const openaiAt = ({ baseURL }: Pick<BridgeProcess, 'baseURL'>, more: ConstructorParameters<typeof OpenAI>[0] = {}) => {
  const counted = countedFetch();
  return { openai: new OpenAI({ baseURL, apiKey: BRIDGE_KEY, fetch: counted.fetch, ...more }), ...counted };
};
const asking = (words: string) => ({ model: MODEL, messages: [{ role: 'user' as const, content: words }] });

const failureOf = async (promise: Promise<unknown>): Promise<APIError> => {
  const error = await rejection(promise);
  assert.instance(error, APIError, String(error));
  return error as APIError;
};
const isLeft = (world: BridgeWorld, count = 1) =>
  until('the model sees that nobody listens', () => asked(world).filter((one) => one.isAborted()).length === count);

describe("OpenAI's own client", (check) => {
  check(
    'lists the models, the default first, and finds one by a name with a slash',
    beside(async ({ bridge }) => {
      const { openai, sent } = openaiAt(bridge);
      const ids: string[] = [];
      for await (const { id, created } of openai.models.list()) {
        ids.push(id);
        assert.type(created, 'number');
      }
      assert.equal(ids, ['demo/main', 'demo/small']);
      assert.is((await openai.models.retrieve('demo/small')).id, 'demo/small');
      assert.match(sent[1]?.url ?? '', '/models/demo%2Fsmall');
      const raw = (await (await bridge.send('/v1/models/demo/small')).json()) as { readonly id: string };
      assert.is(raw.id, 'demo/small');
      const unknown = await failureOf(openai.models.retrieve('demo/other'));
      assert.instance(unknown, NotFoundError);
      assert.is(unknown.code, 'model_not_found');
    }),
  );

  check(
    'is answered by the model of its choice, by a bare name, or by the default, and the answer names it',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      world.model.alwaysReply('Good day.', isNoTitle);
      for (const [model, wanted] of [
        ['demo/small', 'small'],
        ['small', 'small'],
        ['', 'demo-main'],
      ] as const) {
        await openai.chat.completions.create({ ...asking(newText()), model });
        assert.is(asked(world).at(-1)?.model, wanted);
      }
      const { model } = await openai.chat.completions.create({ ...asking(newText()), model: 'small' });
      assert.ok(['small', 'demo/small'].includes(model), model);
    }),
  );

  check(
    'has an error class for each refusal, with its code and its parameter, and asks once',
    beside(async (world) => {
      const { openai, sent } = openaiAt(world.bridge);
      const words = newText();
      const unknownName = openai.withOptions({ apiKey: 'wrong' });
      const cases = [
        [() => unknownName.chat.completions.create(asking(words)), AuthenticationError, 401, 'invalid_api_key', null],
        [() => unknownName.models.list(), AuthenticationError, 401, 'invalid_api_key', null],
        [() => unknownName.responses.retrieve('resp_x'), AuthenticationError, 401, 'invalid_api_key', null],
        [
          () => openai.chat.completions.create({ ...asking(words), model: 'gpt-5' }),
          NotFoundError,
          404,
          'model_not_found',
          'model',
        ],
        [
          () => openai.responses.create({ model: 'gpt-5', input: words }),
          NotFoundError,
          404,
          'model_not_found',
          'model',
        ],
        [() => openai.responses.retrieve('resp_none'), NotFoundError, 404, 'not_found', null],
        [
          () => openai.chat.completions.create({ model: MODEL, messages: [] }),
          BadRequestError,
          400,
          undefined,
          'messages',
        ],
        [
          () => openai.chat.completions.create({ ...asking(words), n: 2 }),
          BadRequestError,
          400,
          'unsupported_value',
          'n',
        ],
        [
          () => openai.chat.completions.create({ ...asking(words), tool_choice: 'required' }),
          BadRequestError,
          400,
          'unsupported_value',
          'tool_choice',
        ],
        [
          () => openai.chat.completions.create(asking(words), { headers: { 'content-type': 'text/plain' } }),
          APIError,
          415,
          'unsupported_media_type',
          null,
        ],
      ] as const;
      for (const [call, kind, status, code, param] of cases) {
        const error = await failureOf(call());
        assert.instance(error, kind);
        assert.equal([error.status, error.param], [status, param], String(error));
        if (code !== undefined) assert.is(error.code, code);
        assert.match(error.requestID ?? '', /^req-/);
      }
      assert.equal([sent.length, asked(world).length], [cases.length, 0]);
    }),
  );

  check(
    'gets errors for what is too large, and for a base URL that is not one',
    beside(async (world) => {
      const small = await world.startBridge({ MAX_BODY_BYTES: '2048' });
      const tooLarge = await failureOf(openaiAt(small).openai.chat.completions.create(asking('x'.repeat(100_000))));
      assert.equal([tooLarge.status, tooLarge.code], [413, 'body_too_large']);
      for (const baseURL of [small.address, `${small.baseURL}/v1`]) {
        const lost = await failureOf(openaiAt({ baseURL }).openai.chat.completions.create(asking('x')));
        assert.equal([lost.status, lost.code], [404, 'not_found']);
        assert.match(lost.message, '/v1');
      }
      await small.running.kill();
    }),
  );

  check(
    'gets 503 when too many wait for one conversation',
    beside(async (world) => {
      world.model.alwaysReply(HANGING, isNoTitle);
      const { openai } = openaiAt(world.bridge, { maxRetries: 0 });
      const leaving = new AbortController();
      const headers = { 'x-session-id': newText() };
      const all = Array.from({ length: 20 }, () =>
        rejection(openai.chat.completions.create(asking('hello'), { headers, signal: leaving.signal })),
      );
      const limited = new Set<unknown>();
      for (const one of all) void one.then((error) => limited.add(error));
      // One runs, and sixteen may wait for it.
      await until('the others are told', () => limited.size === 3 && asked(world).length === 1);
      for (const error of limited) {
        assert.instance(error, InternalServerError);
        const { status, code, headers: received } = error as APIError;
        assert.equal([status, code], [503, 'overloaded']);
        assert.ok(Number(received?.get('retry-after')) >= 1);
      }
      leaving.abort();
      const errors = await Promise.all(all);
      assert.is(errors.filter((error) => error instanceof APIUserAbortError).length, 17);
      await isLeft(world);
      assert.is(asked(world).length, 1);
      // Nothing of it is left for the next check.
      await until('the session is idle', async () => (await world.agent.ask('GET', '/session/status')).text === '{}');
    }),
  );

  check(
    'asks again by itself when the bridge is busy, and is answered',
    beside(async (world) => {
      const narrow = await world.startBridge({ MAX_CONCURRENCY: '1' });
      world.model.addReply(answer([{ kind: 'wait', ms: 400 }, ...text('First.')]), isNoTitle);
      world.model.addReply('Second.', isNoTitle);
      const first = awaitedLater(openaiAt(narrow).openai.chat.completions.create(asking(newText())));
      await until('the first runs', () => asked(world).length === 1);
      const { openai, sent } = openaiAt(narrow);
      const busy = await failureOf(openai.chat.completions.create(asking(newText()), { maxRetries: 0 }));
      assert.instance(busy, InternalServerError);
      assert.equal([busy.status, busy.code, busy.headers?.get('retry-after')], [503, 'overloaded', '1']);
      const { choices } = await openai.chat.completions.create(asking(newText()));
      assert.is(choices[0]?.message.content, 'Second.');
      assert.equal([sent.length, asked(world).length], [3, 2]);
      assert.is((await first).choices[0]?.message.content, 'First.');
      await narrow.running.kill();
    }),
  );
});

describe("OpenAI's own client, asking again", (check) => {
  check(
    'with one Idempotency-Key has one turn, at the same time or later, whole or streamed',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      for (const isResponses of [false, true]) {
        world.model.clear();
        world.model.alwaysReply(answer([{ kind: 'wait', ms: 100 }, ...text('Good day.')]), isNoTitle);
        const words = newText();
        const again = { headers: { 'idempotency-key': words.replaceAll(' ', '-') } };
        const one = async (): Promise<string> => {
          if (isResponses) return (await openai.responses.create({ model: MODEL, input: words }, again)).output_text;
          const { choices } = await openai.chat.completions.create(asking(words), again);
          return choices[0]?.message.content ?? '';
        };
        const both = await Promise.all([one(), one()]);
        assert.equal([...both, await one()], ['Good day.', 'Good day.', 'Good day.']);
        assert.is(asked(world).length, 1);
        const other = isResponses
          ? openai.responses.create({ model: MODEL, input: 'else' }, again)
          : openai.chat.completions.create(asking('else'), again);
        assert.is((await failureOf(other)).code, 'idempotency_key_reused');
      }
    }),
  );

  check(
    'with a count of its retries joins the turn that is under way, whole or streamed',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      for (const stream of [false, true]) {
        world.model.clear();
        world.model.alwaysReply(
          answer([...text('so far '), { kind: 'wait', ms: 300 }, ...text('so good.')]),
          isNoTitle,
        );
        const { messages } = asking(newText());
        const one = async (count: number): Promise<string> => {
          const options = { headers: { 'x-stainless-retry-count': String(count) } };
          if (stream)
            return (await openai.chat.completions.stream({ model: MODEL, messages }, options).finalContent()) ?? '';
          const { choices } = await openai.chat.completions.create({ model: MODEL, messages }, options);
          return choices[0]?.message.content ?? '';
        };
        const first = awaitedLater(one(0));
        await until('the first runs', () => asked(world).length === 1);
        assert.equal(await Promise.all([first, one(1), one(2)]), Array(3).fill('so far so good.'));
        assert.is(asked(world).length, 1);
      }
    }),
  );

  check(
    'after its own time limit, receives the whole of an answer and never a part as if it were all',
    beside(async (world) => {
      const { openai, sent } = openaiAt(world.bridge, { timeout: 1500, maxRetries: 2 });
      world.model.addReply(answer([...text('so far '), { kind: 'wait', ms: 5000 }, ...text('too late')]), isNoTitle);
      world.model.addReply(answer(text('so far ', 'so good.')), isNoTitle);
      const { choices } = await openai.chat.completions.create(asking(newText()));
      assert.is(choices[0]?.message.content, 'so far so good.');
      assert.is(sent.length, 2);
      assert.ok(asked(world)[0]?.isAborted(), 'the first run was ended');
    }),
  );

  check(
    'after its own time limit, joins the turn that is under way, as the bridge is by default',
    beside(async (world) => {
      const patient = await world.startBridge({ BRIDGE_ON_DISCONNECT: '' });
      const { openai, sent } = openaiAt(patient, { timeout: 400, maxRetries: 2 });
      world.model.alwaysReply(answer([...text('so far '), { kind: 'wait', ms: 700 }, ...text('so good.')]), isNoTitle);
      const before = (await sessionsOf(world)).length;
      const { choices } = await openai.chat.completions.create(asking(newText()));
      assert.is(choices[0]?.message.content, 'so far so good.');
      assert.is(asked(world).length, 1);
      assert.ok(sent.length > 1);
      assert.is(sent.at(-1)?.headers.get('x-stainless-retry-count'), String(sent.length - 1));
      assert.is((await sessionsOf(world)).length, before + 1);
      await patient.running.kill();
    }),
  );

  check(
    'has two turns for the same words without such a sign, and the two chats stay apart',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      world.model.alwaysReply('Good day.', isNoTitle);
      const { messages } = asking(newText());
      const goOn = (more: string) =>
        openai.chat.completions.create({
          model: MODEL,
          messages: [...messages, { role: 'assistant', content: 'Good day.' }, { role: 'user', content: more }],
        });
      await Promise.all([1, 2].map(() => openai.chat.completions.create({ model: MODEL, messages })));
      await Promise.all([goOn('mine is a secret'), goOn('and yours?')]);
      assert.is(asked(world).length, 4);
      for (const { turns } of asked(world))
        assert.not.match(JSON.stringify(turns), /mine is a secret.*and yours|and yours.*mine is a secret/);
    }),
  );
});

const ASKING_WITH_A_TOOL: readonly (readonly [string, (openai: OpenAI, words: string) => Promise<unknown>])[] = [
  [
    'a chat completion',
    async (openai, words) => (await openai.chat.completions.create(asking(words))).choices[0]?.message.content,
  ],
  [
    'a chat completion with a key, in a named session',
    async (openai, words) => {
      const headers = { 'x-session-id': words, 'idempotency-key': words.replaceAll(' ', '-') };
      return (await openai.chat.completions.create(asking(words), { headers })).choices[0]?.message.content;
    },
  ],
  ['a response', async (openai, words) => (await openai.responses.create({ model: MODEL, input: words })).output_text],
];

/** In one attempt a turn begins and calls its tool, or hands over its answer: a busy machine takes half a second for that. */
const IMPATIENT = { timeout: 800, maxRetries: 2 };

describe("OpenAI's own client, with less patience than a turn with a tool takes", (check) => {
  for (const [what, ask] of ASKING_WITH_A_TOOL) {
    check(
      `tries ${what} three times, and has one turn and one call of the tool`,
      beside(async (world) => {
        const bridge = await world.startBridge({ BRIDGE_ON_DISCONNECT: '' });
        const { openai, sent, untilSent } = openaiAt(bridge, IMPATIENT);
        scriptSlowTool(world, untilSent(3));
        const before = (await sessionsOf(world)).length;
        assert.is(await ask(openai, newText()), 'It is five.');
        assert.is(sent.length, 3);
        assert.equal([asked(world).length, await callsIn(world)], [2, 1]);
        assert.is((await sessionsOf(world)).length, before + 1);
        await bridge.running.kill();
      }),
    );

    check(
      `is told of ${what} that its leaving has aborted, and the tool is not called again`,
      beside(async (world) => {
        const bridge = await world.startBridge({ BRIDGE_ON_DISCONNECT: 'abort' });
        const { openai, sent } = openaiAt(bridge, IMPATIENT);
        scriptSlowTool(world, 5000);
        const error = await failureOf(ask(openai, newText()));
        assert.equal([error.status, error.code, sent.length], [409, 'turn_aborted', 2]);
        assert.match(error.message, TOOL);
        assert.equal([asked(world).length, await callsIn(world)], [2, 1]);
        await bridge.running.kill();
      }),
    );
  }
});

describe("OpenAI's own client, leaving", (check) => {
  check(
    'ends the run at the agent, whatever it asked for',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      world.model.alwaysReply(HANGING, isNoTitle);
      const words = newText();
      const calls = [
        (signal: AbortSignal) => openai.chat.completions.create(asking(words), { signal }),
        (signal: AbortSignal) => openai.responses.create({ model: MODEL, input: words }, { signal }),
        async (signal: AbortSignal) => {
          const stream = await openai.chat.completions.create({ ...asking(words), stream: true }, { signal });
          for await (const _ of stream);
          throw new APIUserAbortError();
        },
        (signal: AbortSignal) => openai.chat.completions.stream(asking(words), { signal }).finalChatCompletion(),
        (signal: AbortSignal) => openai.responses.stream({ model: MODEL, input: words }, { signal }).finalResponse(),
      ];
      for (const call of calls) {
        world.model.clear();
        world.model.alwaysReply(HANGING, isNoTitle);
        const leaving = new AbortController();
        const left = rejection(call(leaving.signal));
        await until('it runs', () => asked(world).length === 1);
        leaving.abort();
        assert.instance(await left, APIUserAbortError);
        await isLeft(world);
      }
      await until('the agent is idle', async () => {
        const { json } = await world.agent.ask<object>('GET', '/session/status');
        return Object.keys(json).length === 0;
      });
    }),
  );

  check(
    'by a break out of its loop ends the run too, and goes on with what it received',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      world.model.addReply(HANGING, isNoTitle);
      const words = newText();
      const headers = { 'x-openwebui-chat-id': newText() };
      let collected = '';
      for await (const { choices } of await openai.chat.completions.create(
        { ...asking(words), stream: true },
        { headers },
      )) {
        collected += choices[0]?.delta.content ?? '';
        if (collected === 'so far ') break;
      }
      await isLeft(world);
      world.model.addReply('Good day.', isNoTitle);
      const messages = [
        ...asking(words).messages,
        { role: 'assistant' as const, content: collected },
        { role: 'user' as const, content: 'go on' },
      ];
      const stream = openai.chat.completions.stream({ model: MODEL, messages }, { headers });
      assert.is(await stream.finalContent(), 'Good day.');
      const said = asked(world)
        .at(-1)
        ?.turns.map(({ role, text: words_ }) => [role, words_]);
      assert.equal(said, [
        ['user', words],
        ['assistant', 'so far '],
        ['user', 'go on'],
      ]);
    }),
  );

  check(
    'while it waits for its turn is not run at all',
    beside(async (world) => {
      const { openai } = openaiAt(world.bridge);
      world.model.addReply(answer([{ kind: 'wait', ms: 2000 }, ...text('Good day.')]), isNoTitle);
      const headers = { 'x-session-id': newText() };
      const first = awaitedLater(openai.chat.completions.create(asking('one'), { headers }));
      await until('the first runs', () => asked(world).length === 1);
      const leaving = new AbortController();
      const second = rejection(openai.chat.completions.create(asking('two'), { headers, signal: leaving.signal }));
      const isWaiting = async () =>
        (await Promise.all((await sessionsOf(world)).map(({ id }) => messagesOf(world.agent, id)))).some((messages) =>
          JSON.stringify(messages).includes('"two"'),
        );
      await until('the second waits', isWaiting);
      leaving.abort();
      assert.instance(await second, APIUserAbortError);
      assert.is((await first).choices[0]?.message.content, 'Good day.');
      world.model.addReply('And you?', isNoTitle);
      await openai.chat.completions.create(asking('three'), { headers });
      assert.is(asked(world).length, 2);
      assert.match(JSON.stringify(asked(world).at(-1)?.turns), /^(?!.*two).*three/);
    }),
  );
});
