import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeWorld,
  dataIn,
  sessionsDeleted,
  sessionsMade,
  system,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const DESK = { 'x-session-id': 'desk' };
/** One byte more than the agent server takes. */
const TOO_LONG = `${'sea '.repeat((3 * 1024 * 1024) / 4)}x`;
const HALF = TOO_LONG.slice(TOO_LONG.length / 2);

const polite = answering((words) => `re ${words}`);
const withPolite = (body: (world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: [polite] }, body);

const requireWords = (world: BridgeWorld, message: string | undefined): void => {
  assert.match(message ?? '', /may have 3145728 bytes together/);
  assert.match(message ?? '', /Send less: shorter texts, smaller files, or fewer earlier messages/);
  assert.equal(world.agent.asked, []);
};

const requireRefusal = async (world: BridgeWorld, path: string, body: object, headers = {}): Promise<void> => {
  const response = await world.send(path, body, headers);
  assert.is(response.status, 413);
  assert.is(response.headers.get('x-should-retry'), 'false');
  const { error } = (await response.json()) as { error: Record<string, string> };
  assert.equal([error.type, error.code], ['invalid_request_error', 'prompt_too_large']);
  requireWords(world, error.message);
};

/** Each is under the bridge's own limit, and too much for the agent server. */
const PROMPTS: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'a message': [CHAT, { messages: [user(TOO_LONG)] }],
  'a system message': [CHAT, { messages: [system(TOO_LONG), user('hi')] }],
  'the earlier messages': [CHAT, { messages: [user(HALF), assistant(HALF), user('hi')] }],
  'an input': [RESPONSES, { input: TOO_LONG }],
  instructions: [RESPONSES, { instructions: TOO_LONG, input: 'hi' }],
};

describe('a prompt that is too large for the agent server', (check) => {
  for (const [name, [path, body]] of Object.entries(PROMPTS)) {
    check(`is refused with the limit and what to do, before any model is called: ${name}`, () =>
      withPolite(async (world) => {
        await requireRefusal(world, path, body);
        await until(() => sessionsDeleted(world).length === sessionsMade(world).length);
      }),
    );
  }

  check('is refused in the stream of a chat, which has no end', () =>
    withPolite(async (world) => {
      const last = (await world.chunks({ messages: [user(TOO_LONG)] })).at(-1) ?? '';
      const { error } = JSON.parse(last) as { error: Record<string, string> };
      assert.is(error.code, 'prompt_too_large');
      requireWords(world, error.message);
    }),
  );

  check('is refused in the stream of a response, which fails', () =>
    withPolite(async (world) => {
      const response = await world.send(RESPONSES, { input: TOO_LONG, stream: true });
      const last = JSON.parse(dataIn(await response.text()).at(-1) ?? '') as {
        type: string;
        response: { error: Record<string, string> };
      };
      assert.equal([last.type, last.response.error.code], ['response.failed', 'prompt_too_large']);
      requireWords(world, last.response.error.message);
    }),
  );

  check('is looked at again when it is sent again, and leaves its conversation as it was', () =>
    withPolite(async (world) => {
      const large = { messages: [user(TOO_LONG)] };
      const key = { 'idempotency-key': 'once' };
      await requireRefusal(world, CHAT, large, { ...DESK, ...key });
      await requireRefusal(world, CHAT, large, { ...DESK, ...key });
      assert.is((await world.chat({ messages: [user('hi')] }, DESK)).text, 're hi');
      const asked = world.agent.asked.length;
      assert.is((await world.send(CHAT, large, DESK)).status, 413);
      assert.is((await world.chat({ messages: [user('and you?')] }, DESK)).text, 're and you?');
      assert.is(world.agent.asked.length, asked + 1);
    }),
  );
});
