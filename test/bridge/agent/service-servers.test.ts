import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, byPrompt, dictated, messagesTo } from '../harness/model-scripts.ts';
import { assistant, begins, until, user } from '../harness/world.ts';
import { type Server, type ServersWorld, withServers } from './servers-world.ts';

const polite = answering((words) => `re ${words}`);
const given = { scripts: [polite] };

const promptsAt = (servers: readonly Server[]): readonly number[] => servers.map(({ link }) => begins(link).length);
const chat = ({ world }: ServersWorld, words: string) => world.chat({ messages: [user(words)] });
const logsIn = ({ world }: ServersWorld, event: string): number =>
  world.logged.filter((line) => line.includes(`"event":"${event}"`)).length;
/** Status and reasons of `/ready`. */
const readyOf = async ({ world }: ServersWorld): Promise<string> => {
  const response = await world.send('/ready');
  const { reasons = [] } = (await response.json()) as { reasons?: readonly string[] };
  return [response.status, ...reasons].join(' ');
};

describe('a bridge before two agent servers', (check) => {
  check('gives its prompts to one as often as to the other', () =>
    withServers(given, async (all) => {
      for (const words of ['one', 'two', 'three', 'four']) assert.is((await chat(all, words)).text, `re ${words}`);
      assert.equal(promptsAt(all.servers), [2, 2]);
      assert.equal(all.world.readings().agentServers, { total: 2, healthy: 2 });
      assert.is(await readyOf(all), '200');
    }),
  );

  check('goes on with a conversation at either of them', () =>
    withServers(given, async (all) => {
      const first = await chat(all, 'one');
      const messages = [user('one'), assistant('re one'), user('two')];
      const second = await all.world.chat({ messages });
      assert.is(second.name, first.name);
      assert.equal(promptsAt(all.servers), [1, 1]);
      assert.match(messagesTo(all.servers[1].agent.asked[0]), 're one');
    }),
  );

  check('serves when one of them is not there at the start', () =>
    withServers(
      given,
      async (all) => {
        for (const words of ['one', 'two']) assert.is((await chat(all, words)).text, `re ${words}`);
        assert.equal(promptsAt([all.servers[1]]), [2]);
        assert.is(await readyOf(all), '200 agent servers that are not ready: 1 of 2');
        assert.equal(all.world.readings().agentServers, { total: 2, healthy: 1 });
        assert.is(logsIn(all, 'agent-left-out'), 1);
      },
      ([first]) => first.goAway(),
    ),
  );

  check('serves when one of them goes away between two requests, and gives it its share when it is back', () =>
    withServers(given, async (all) => {
      await chat(all, 'one');
      all.servers[0].goAway();
      const messages = [user('one'), assistant('re one'), user('two')];
      assert.is((await all.world.chat({ messages })).text, 're two');
      assert.is((await chat(all, 'three')).text, 're three');
      assert.is(logsIn(all, 'agent-left-out'), 1);
      all.servers[0].comeBack();
      const before = all.servers[0].agent.asked.length;
      await until(async () => {
        await chat(all, 'more');
        return all.servers[0].agent.asked.length > before;
      });
      assert.is(logsIn(all, 'agent-back'), 1);
      assert.equal(all.world.readings().agentServers, { total: 2, healthy: 2 });
    }),
  );

  check('gives to the other what one that is starting or stopping turns away, once', () =>
    withServers(given, async (all) => {
      all.servers[0].turnAway();
      for (const words of ['one', 'two', 'three']) assert.is((await chat(all, words)).text, `re ${words}`);
      assert.is(all.servers[1].agent.asked.length, 3);
      assert.ok((promptsAt(all.servers)[0] ?? 0) <= 1);
    }),
  );

  check('finds out by itself that one is gone or back, when it is asked whether it is ready', () =>
    withServers(given, async (all) => {
      await until(() => all.world.readings().isAgentConnected);
      all.servers[1].goAway();
      await until(async () => (await readyOf(all)).endsWith('1 of 2'));
      assert.is(promptsAt(all.servers)[1], 0);
    }),
  );

  check(
    'reads the rest of an answer at another one when its stream breaks, nothing lost and nothing twice',
    async () => {
      const model = dictated();
      await withServers({ scripts: [byPrompt({ go: model.script }, polite)] }, async (all) => {
        const { world, servers } = all;
        await chat(all, 'hello');
        const stream = await openStream(world, { messages: [user('go')] });
        await model.begun;
        model.addReply('One ');
        model.addReply('two ');
        assert.equal(promptsAt(servers), [1, 1]);
        servers[0].goAway();
        await stream.until('One two ');
        model.addReply('three ');
        await stream.until('three ');
        model.end();
        assert.is(await stream.rest(), 'One two three ');
      });
    },
  );

  check(
    'does not ask again when the connection of a prompt breaks, and reads at the other what came of it',
    async () => {
      const model = dictated();
      await withServers({ scripts: [model.script] }, async (all) => {
        const { servers } = all;
        const answered = chat(all, 'go');
        await model.begun;
        servers[0].goAway();
        model.addReply('All of it.');
        model.end();
        assert.is((await answered).text, 'All of it.');
        assert.equal(promptsAt(servers), [1, 0]);
      });
    },
  );

  check('says 502 or 503, as before one server, when both are away', () =>
    withServers(given, async (all) => {
      await chat(all, 'one');
      for (const server of all.servers) server.turnAway();
      const refused = await all.world.send('/v1/chat/completions', { messages: [user('two')] });
      assert.is(refused.status, 503);
      assert.is(refused.headers.get('retry-after'), '1');
      for (const server of all.servers) server.goAway();
      await until(() => !all.world.readings().isAgentConnected);
      assert.match(await readyOf(all), /^503 .*cannot be used \(\w+\) agent servers that are not ready: 2 of 2$/);
      for (const server of all.servers) server.comeBack();
      assert.is((await chat(all, 'three')).text, 're three');
    }),
  );
});
