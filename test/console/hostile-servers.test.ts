import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { BRIDGE_KEY, createConsoleWorld } from './harness/world.ts';

type Shown = { readonly open: readonly { readonly id: string; readonly ends?: number }[] };

/** A console whose first agent server asks for one call, with `more` in the request. */
const asking = async (more: Readonly<Record<string, unknown>> = {}) => {
  const world = await createConsoleWorld();
  world.agents[0].ask('per_1', { user_id: 7 }, more);
  await world.clock.advance(5000);
  const ann = await world.as('ann');
  const open = async () => ((await (await ann('GET', '/api/approvals')).json()) as Shown).open;
  const decide = (reply: string) =>
    ann('POST', '/api/approvals/0/per_1', { reply, argumentsHash: world.agents[0].hashOf({ user_id: 7 }) });
  return { ...world, ann, open, decide };
};

describe('what an agent server sends', (check) => {
  check('is never allowed for good where it is not shown what that covers', async () => {
    for (const always of [['*', 5], 'all', [], Array.from({ length: 1001 }, () => 'a')]) {
      const { decide, agents, stop } = await asking({ always });
      assert.is((await decide('always')).status, 403);
      assert.equal(agents[0].decisions, []);
      assert.is((await decide('once')).status, 200);
      stop();
    }
  });

  check('is shown with times that no date has, without them', async () => {
    const { open, stop } = await asking({ time: { asked: 1, ends: 1e300 } });
    assert.equal(
      (await open()).map(({ id, ends }) => [id, ends]),
      [['per_1', undefined]],
    );
    stop();
  });

  check('is shown whole with a thousand open requests', async () => {
    const world = await asking();
    for (let each = 0; each < 1000; each++) world.agents[0].ask(`per_more${each}`, { each });
    await world.clock.advance(5000);
    assert.is((await world.open()).length, 1001);
    world.stop();
  });

  check('is shown of its configuration without lists and tables of secrets', async () => {
    const world = await asking();
    world.agents[0].others['/config'] = {
      provider: { x: { apiKeys: ['canary-1'], clientSecret: { value: 'canary-2' }, name: 'kept' } },
    };
    const text = await (await world.ann('GET', '/api/config')).text();
    assert.not.match(text, 'canary');
    assert.match(text, 'kept');
    world.stop();
  });
});

describe('the messages of a session', (check) => {
  check('are shown however deeply they are nested', async () => {
    const world = await createConsoleWorld();
    const messages = `[{"info":{"id":"msg_1"},"parts":${'['.repeat(20_000)}${']'.repeat(20_000)}}]`;
    world.agents[0].texts['/session/ses_1/message'] = messages;
    const ann = await world.as('ann');
    const answer = await ann('GET', '/api/sessions/0/ses_1/messages?limit=1');
    assert.equal([answer.status, await answer.text()], [200, `{"messages":${messages},"next":"msg_1"}`]);
    world.agents[0].texts['/session/ses_1/message'] = '{}';
    assert.equal(await (await ann('GET', '/api/sessions/0/ses_1/messages')).json(), { messages: [] });
    world.stop();
  });
});

describe('a stream of a service', (check) => {
  check('holds no secret of the console, wherever it is cut, and its lines come at once', async () => {
    for (const at of [1, BRIDGE_KEY.length - 1]) {
      const world = await createConsoleWorld();
      const { headers } = await world.login('ann');
      const opened = (path: string, answer: Response) => {
        const source = world.services.streams.find(({ url }) => url === path);
        const read = answer.body?.getReader();
        const next = async (): Promise<string> => new TextDecoder().decode((await read?.read())?.value);
        return { source, next };
      };
      const chat = await world.send('POST', '/api/chat', { headers, body: { text: 'hello' } });
      const bridge = opened('/v1/chat/completions', chat);
      bridge.source?.send(`data: 1\n\ndata: ${BRIDGE_KEY.slice(0, at)}`);
      assert.is(await bridge.next(), 'data: 1\n\n');
      bridge.source?.send(`${BRIDGE_KEY.slice(at)}\n\n`);
      assert.is(await bridge.next(), 'data: [redacted]\n\n');
      const file = await world.send('GET', '/api/sessions/0/ses_1/export', { headers });
      const { source, next } = opened('/session/ses_1/export', file);
      source?.send(`1\n${BRIDGE_KEY.slice(0, at)}`);
      assert.is(await next(), '1\n');
      source?.send(`${BRIDGE_KEY.slice(at)}\n`);
      assert.is(await next(), '[redacted]\n');
      source?.send(`${'x'.repeat(20_000)}${BRIDGE_KEY.slice(0, at)}`);
      const long = await next();
      source?.send(`${BRIDGE_KEY.slice(at)}y`);
      source?.end();
      let rest = '';
      for (let piece = await next(); piece !== ''; piece = await next()) rest += piece;
      assert.is(`${long}${rest}`, `${'x'.repeat(20_000)}[redacted]y`);
      world.stop();
    }
  });
});
