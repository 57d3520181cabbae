import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { checkKills } from './crash.ts';
import { assertAnswers, CONFIG, script } from './kills.ts';
import { inAgentWorld, messagesOf, newSession, questionsOf, textPrompt, until } from './world.ts';

describe('killing the agent bundle', (check) => {
  checkKills(check, 6);

  check(
    'while a person is asked takes the question away, and says of the call that it was not made',
    inAgentWorld(async (world) => {
      script(world);
      const first = await world.start({ config: CONFIG });
      const { id } = await newSession(first);
      await first.ask('POST', `/session/${id}/prompt_async`, textPrompt('please ask'));
      await until('somebody is asked', async () => (await questionsOf(first)).length === 1);
      await first.kill();
      const second = await world.start({ config: CONFIG });
      assert.equal(await questionsOf(second), []);
      const [, { info, parts } = { info: undefined, parts: [] }] = await messagesOf(second, id);
      assert.equal(info?.role === 'assistant' && info.error?.name, 'MessageAbortedError');
      const call = parts.find((part) => part.type === 'tool');
      assert.match(JSON.stringify(call), 'stopped before this call was made, so it was not made');
      await assertAnswers(second, id, 'after it');
    }),
  );
});
