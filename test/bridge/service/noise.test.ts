import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { type LiveStream, openStream } from '../harness/live-stream.ts';
import { type Dictated, dictated } from '../harness/model-scripts.ts';
import { aborts, type BridgeWorld, callsTo, prompts, quietTime, until, user, withBridge } from '../harness/world.ts';

type Output = {
  readonly info: { readonly id: string; readonly role: string; readonly sessionID: string };
  readonly parts: readonly { readonly id: string; readonly type: string }[];
};
type Scene = {
  readonly world: BridgeWorld;
  readonly model: Dictated;
  readonly stream: LiveStream;
  readonly sessionID: string;
  readonly asked: Output;
  readonly answer: Output;
};

/** An answer of which one word has come, and what the agent keeps of it. */
const inTheMiddle = (body: (scene: Scene) => Promise<void>): Promise<void> => {
  const model = dictated();
  return withBridge({ scripts: [model.script] }, async (world) => {
    const stream = await openStream(world, { messages: [user('tell me')] });
    model.addReply('One ');
    await stream.until('One ');
    const sessionID = prompts(world)[0]?.path.split('/')[2] ?? '';
    const [asked, answer] = (await world.agent.get(`/session/${sessionID}/message`)) as readonly [Output, Output];
    await body({ world, model, stream, sessionID, asked, answer });
    model.addReply('two');
    model.end();
    assert.is(await stream.rest(), 'One two');
    assert.is(stream.data.at(-1), '[DONE]');
  });
};

const textPart = (outputText: Output, text: string, more = {}) => ({
  type: 'message.part.updated',
  properties: {
    part: {
      id: 'prt_x',
      type: 'text',
      text,
      sessionID: outputText.info.sessionID,
      messageID: outputText.info.id,
      ...more,
    },
  },
});

describe('what the event stream reports beside an answer', (check) => {
  check("is no part of it when it is the user's own words, however late they come", () =>
    inTheMiddle(async ({ world, asked, sessionID }) => {
      world.report(textPart(asked, 'tell me, written anew'));
      world.report({
        type: 'message.part.delta',
        properties: { sessionID, messageID: asked.info.id, partID: 'prt_x', field: 'text', delta: ' and more' },
      });
      await quietTime(10);
    }),
  );

  check('is no part of it when it belongs to another session or to a message that no one knows', () =>
    inTheMiddle(async ({ world, answer, sessionID }) => {
      world.report(textPart({ ...answer, info: { ...answer.info, sessionID: 'ses_other' } }, 'of others'));
      world.report(textPart({ ...answer, info: { ...answer.info, id: 'msg_unknown' } }, 'of nobody'));
      world.report({ type: 'session.idle', properties: { sessionID } });
      world.report({ type: 'session.idle', properties: { sessionID: 'ses_other' } });
      world.report({ type: 'session.status', properties: { sessionID, status: { type: 'idle' } } });
      await quietTime(10);
    }),
  );

  check('is no part of it when it was put in by the agent, and not said', () =>
    inTheMiddle(async ({ world, answer }) => {
      world.report(textPart(answer, 'a hint of the agent', { synthetic: true }));
      world.report(textPart(answer, 'left out', { ignored: true, id: 'prt_y' }));
      await quietTime(10);
    }),
  );

  check('does no harm when it is no event that anybody understands', () =>
    inTheMiddle(async ({ world, sessionID }) => {
      for (const event of [
        'no JSON {',
        '[]',
        'null',
        { type: 'session.error', properties: {} },
        { type: 'session.error', properties: { sessionID, error: { name: 'Whatever' } } },
        { type: 'message.part.updated', properties: { part: { type: 'text' } } },
        { type: 'message.part.delta', properties: { sessionID } },
        { type: 'permission.asked', properties: { id: 5 } },
        { type: 'permission.replied', properties: { sessionID, requestID: 'per_nobody' } },
        { type: 'constructor', properties: null },
        { type: 'x'.repeat(10_000) },
      ])
        world.report(event);
      await quietTime(10);
      assert.ok(world.readings().isAgentConnected);
      assert.equal(aborts(world), []);
    }),
  );

  check('is no question of ours when another session asks', () =>
    inTheMiddle(async ({ world }) => {
      const other = { id: 'per_other', sessionID: 'ses_other', permission: 'pay', metadata: {} };
      world.report({ type: 'permission.asked', properties: other });
      await quietTime(150);
      assert.equal(callsTo(world, 'POST', /^\/permission/), []);
    }),
  );

  check('is turned down when it is a question that no one here can answer', () =>
    inTheMiddle(async ({ world, sessionID }) => {
      world.report({ type: 'question.asked', properties: { id: 'que_1', sessionID } });
      world.report({ type: 'question.asked', properties: { id: 'que_2', sessionID: 'ses_other' } });
      await until(() => callsTo(world, 'POST', /^\/question/).length > 0);
      await quietTime(10);
      assert.equal(
        callsTo(world, 'POST', /^\/question/).map(({ path }) => path),
        ['/question/que_1/reject'],
      );
    }),
  );
});

describe('an agent that refuses', (check) => {
  const refusing =
    (status: number, body: string, type = 'application/json') =>
    async ({ url }: Request): Promise<Response> => {
      const path = new URL(url).pathname;
      if (path === '/event')
        return new Response('data: {"type":"server.connected"}\n\n', {
          headers: { 'content-type': 'text/event-stream' },
        });
      return new Response(body, { status, headers: { 'content-type': type } });
    };
  const CASES = [
    ['the credentials', refusing(401, ''), 502, 'agent_unauthorized'],
    ['to be asked now', refusing(503, '{}'), 503, 'unavailable'],
    ['with a full disk', refusing(507, '{"data":{"code":"disk_full","message":"key-1"}}'), 507, 'agent_disk_full'],
    ['with a failure of its own', refusing(500, '{"secret":"key-1"}'), 502, 'agent_refused'],
    ['by a page of another service', refusing(200, '<html>hello</html>', 'text/html'), 502, 'agent_unusable'],
  ] as const;
  for (const [what, handler, status, code] of CASES)
    check(`${what} is reported, and nothing of its text`, () =>
      withBridge({}, async (world) => {
        world.replaceAgent(handler);
        for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/models']) {
          const body = path === '/v1/models' ? undefined : { messages: [user('hi')], input: 'hi' };
          const response = await world.send(path, body);
          assert.is(response.status, status);
          const text = await response.text();
          assert.match(text, `"${code}"`);
          assert.not.match(text, /key-1|html/);
        }
      }),
    );

  check('a prompt leaves no session behind, and says why', () =>
    withBridge({}, async (world) => {
      const { handler } = world.agent.server;
      world.replaceAgent(async (request) => {
        if (!request.url.endsWith('/message')) return handler(request);
        const data = { message: 'model: expected one of demo/main' };
        return Response.json({ name: 'BadRequest', data }, { status: 400 });
      });
      const response = await world.send('/v1/chat/completions', { messages: [user('hi')] });
      assert.is(response.status, 502);
      assert.match(await response.text(), /model: expected one of demo\/main.*"agent_refused"/);
      await until(async () => (await world.agent.store.sessions({})).length === 0);
    }),
  );
});
