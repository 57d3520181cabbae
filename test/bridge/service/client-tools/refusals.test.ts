import * as assert from 'uvu/assert';
import { calling, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { messagesTo } from '../../harness/model-scripts.ts';
import { chatWith, functionNamed, QUESTION, resultsOf, streamed, TOOLS, WEATHER } from '../../harness/tools-world.ts';
import { type BridgeWorld, prompts, withBridge } from '../../harness/world.ts';
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

describe('functions of a client in front of a server without them', (check) => {
  /** As OpenCode's own server: it names no features, and knows nothing of calls of clients. */
  const withPlainServer = (body: (world: BridgeWorld) => Promise<void>) =>
    withBridge(given(replying('Hello.')), async (world) => {
      world.replaceAgent(async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === '/global/health') return Response.json({ healthy: true, version: '1.18.33' });
        if (pathname.endsWith('/client-tool-results')) return new Response('<html></html>', { status: 404 });
        return world.agent.server.handler(request);
      });
      await body(world);
    });

  check('are ignored, and the header says so', () =>
    withPlainServer(async (world) => {
      const answer = await chatWith(world, QUESTION, { tools: TOOLS, temperature: 0.5 });
      assert.equal([answer.message.content, answer.finish], ['Hello.', 'stop']);
      assert.is(answer.headers.get('x-gatehouse-ignored'), 'temperature, tools');
      assert.not.match(JSON.stringify(prompts(world)[0]?.body), 'clientTools');
    }),
  );

  check('are refused where one of several is forced, with what is missing', () =>
    withPlainServer(async (world) => {
      const { status, error } = await chatWith(world, QUESTION, { tools: TOOLS, tool_choice: 'required' });
      assert.equal([status, error?.code, error?.param], [400, 'unsupported_value', 'tool_choice']);
      assert.match(error?.message ?? '', 'the agent server takes no functions of clients');
      assert.is(prompts(world).length, 0);
    }),
  );

  check('reach the model in words where the client sends results', () =>
    withPlainServer(async (world) => {
      const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const answer = await chatWith(world, [...QUESTION, message, ...resultsOf([call])]);
      assert.is(answer.message.content, 'Hello.');
      assert.match(messagesTo(world.agent.asked[0]), 'weather is fine');
    }),
  );
});
