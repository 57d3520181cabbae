import * as assert from 'uvu/assert';
import { calling, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { chatWith, functionNamed, QUESTION, resultsOf, streamed, WEATHER } from '../../harness/tools-world.ts';
import { withBridge } from '../../harness/world.ts';
import { clock, given, weather } from './world.ts';

describe('functions of a client in a chat', (check) => {
  check('are refused together where the agent takes no more', () =>
    withBridge({}, async (world) => {
      const long = (index: number) => functionNamed(`f${index}`, { type: 'object', description: 'x'.repeat(60_000) });
      const { status, error } = await chatWith(world, QUESTION, { tools: [0, 1, 2, 3, 4].map(long) });
      assert.equal([status, error?.param], [400, 'tools']);
    }),
  );

  check('are refused with their place where the agent has such a tool, in a stream, too', () =>
    withBridge({ tools: [toolNamed('look')] }, async (world) => {
      const tools = [WEATHER, functionNamed('look')];
      const { status, error } = await chatWith(world, QUESTION, { tools });
      assert.equal([status, error?.code, error?.param], [400, 'invalid_value', 'tools[1].function.name']);
      const stream = await streamed(world, QUESTION, { tools });
      assert.is(stream.status, 400);
      assert.is(JSON.parse(stream.text).error.param, 'tools[1].function.name');
      assert.is(world.agent.asked.length, 0);
    }),
  );

  check('are refused with what is missing where results of some calls lack, and lose nothing', () =>
    withBridge(given(calling(weather, clock), replying('Noon.')), async (world) => {
      const asked = await chatWith(world, QUESTION);
      const results = resultsOf(asked.calls);
      const partly = await chatWith(world, [...QUESTION, asked.message, ...results.slice(0, 1)]);
      assert.equal([partly.status, partly.error?.code], [400, 'missing_tool_result']);
      assert.match(partly.error?.message ?? '', asked.calls[1]?.id ?? 'none');
      const answer = await chatWith(world, [...QUESTION, asked.message, ...results]);
      assert.is(answer.message.content, 'Noon.');
      assert.is(world.agent.asked.length, 2);
    }),
  );
});
