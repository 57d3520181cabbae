import * as assert from 'uvu/assert';
import { calling, outcome, replying, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { assistant, joinedIn, sessionsMade, user, withBridge } from '../harness/world.ts';

describe('an answer over bridge and agent', (check) => {
  check('is what the agent says, whole and streamed', () =>
    withBridge({ scripts: [replying('Good ', 'morning')] }, async (world) => {
      const reply = await world.chat({ messages: [user('hello')] });
      assert.is(reply.text, 'Good morning');
      assert.is(reply.json.usage.total_tokens, 15);
      const data = await world.chunks({ messages: [user('hello')] });
      assert.is(joinedIn(data), 'Good morning');
      assert.is(data.at(-1), '[DONE]');
    }),
  );

  check('goes on in the same session when its words are sent back', () =>
    withBridge({ scripts: [replying('one'), replying('two'), replying('three')] }, async (world) => {
      const first = await world.chat({ messages: [user('a')] });
      const second = await world.chat({ messages: [user('a'), assistant('one'), user('b')] });
      assert.is(second.text, 'two');
      assert.is(second.name, first.name);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('ends with a question where a person has to decide, and goes on when that is answered', () =>
    withBridge(
      {
        scripts: [calling({ name: 'pay', input: { amount: 5 } }), replying('paid')],
        tools: [toolNamed('pay', async () => outcome('done'))],
        rules: [
          { permission: '*', pattern: '*', action: 'allow' },
          { permission: 'pay', pattern: '*', action: 'ask' },
        ],
      },
      async (world) => {
        const first = await world.chat({ messages: [user('pay five')] });
        assert.match(first.text, /pay[\s\S]*"amount":5/);
        const [, id = ''] = /approve (\w+)/.exec(first.text) ?? [];
        const second = await world.chat({ messages: [user('pay five'), assistant(first.text), user(`approve ${id}`)] });
        assert.is(second.text, 'paid');
      },
    ),
  );
});
