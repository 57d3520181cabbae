import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeWorld,
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

  for (const [path, body] of [
    [CHAT, { messages: [user(TOO_LONG)] }],
    [RESPONSES, { input: TOO_LONG }],
  ] as const)
    check(`is refused before the stream of ${path} begins`, () =>
      withPolite((world) => requireRefusal(world, path, { ...body, stream: true })),
    );

  check('does not include the earlier messages, which count for the session alone', () =>
    withPolite(async (world) => {
      const { text } = await world.chat({ messages: [user(HALF), assistant(HALF), user('hi')] });
      assert.is(text, 're hi');
      assert.is(world.agent.asked[0]?.messages.length, 3);
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
