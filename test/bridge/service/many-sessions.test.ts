import * as assert from 'uvu/assert';
import type { Handler } from '../../../src/core/http/handler.ts';
import { describe } from '../../check.ts';
import { createAgentLink } from '../harness/agent-link.ts';
import { CHAT, polite } from '../harness/story-world.ts';
import { startAgentWorld, user, withBridge } from '../harness/world.ts';

/** As many as a bridge lists for the requests of the last time. All sessions are asked for by a larger number. */
const NEWEST = 200;

/** An agent that has so many sessions that a list of all of them never comes. */
const slowToList =
  (handler: Handler): Handler =>
  async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const isLong = request.method === 'GET' && pathname === '/session' && Number(searchParams.get('limit')) > NEWEST;
    return isLong ? new Promise<Response>(() => {}) : handler(request);
  };

describe('a bridge that has not read all sessions yet', (check) => {
  check('answers a new chat', async () => {
    const agent = await startAgentWorld({ scripts: [polite] });
    const link = createAgentLink(slowToList(agent.server.handler));
    await withBridge({ over: agent, ways: { ...link, baseUrls: ['http://agent.test'] } }, async (world) => {
      const late = new Promise<never>((_, reject) => setTimeout(reject, 3000, new Error('It waits for all sessions')));
      late.catch(() => {});
      const reply = await Promise.race([world.chat(CHAT), late]);
      assert.is(reply.text, 're story');
      assert.is((await Promise.race([world.chat({ messages: [user('two')] }), late])).text, 're two');
    });
  });
});
