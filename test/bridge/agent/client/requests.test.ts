import * as assert from 'uvu/assert';
import type { AgentClient, Prompt } from '../../../../src/bridge/agent/types.ts';
import { describe, rejection } from '../../../check.ts';
import { ANSWER, type Answered, agentOver, CALLS, faultOf, jsonAnswer, never, PROMPT, SES } from './world.ts';

const CREDENTIALS = { username: 'opencode', password: 'pässword:x' };

const SESSION = {
  id: SES,
  slug: 'misty',
  title: 'a',
  metadata: { gatehouse: { a: 1 } },
  time: { created: 1, updated: 2 },
};

describe('an agent over HTTP', (check) => {
  check('creates a session without questions that only a terminal could answer', async () => {
    const { agent, asked } = agentOver(() => jsonAnswer(SESSION));
    const made = await agent.createSession({ title: 'A chat', metadata: { gatehouse: { a: 1 } } }, never);
    assert.equal(made, { id: SES, metadata: { gatehouse: { a: 1 } }, time: { created: 1, updated: 2 } });
    const rules = ['question', 'plan_enter', 'plan_exit'].map((permission) => ({
      permission,
      pattern: '*',
      action: 'deny',
    }));
    const body = { title: 'A chat', metadata: { gatehouse: { a: 1 } }, permission: rules };
    assert.equal(asked(), [`POST /session ${JSON.stringify(body)}`]);
  });

  check('asks for what it is asked, in its words', async () => {
    const done = jsonAnswer(true);
    const session = jsonAnswer(SESSION);
    const tries: readonly (readonly [(agent: AgentClient) => Promise<unknown>, Answered, string])[] = [
      [(agent) => agent.session(SES, never), session, `GET /session/${SES}`],
      [(agent) => agent.sessions(7, never), jsonAnswer([SESSION]), 'GET /session?roots=true&limit=7'],
      [(agent) => agent.setMetadata(SES, { a: [1] }, never), session, `PATCH /session/${SES} {"metadata":{"a":[1]}}`],
      [(agent) => agent.deleteSession(SES, never), done, `DELETE /session/${SES}`],
      [(agent) => agent.message(SES, 'msg_1', never), jsonAnswer(ANSWER), `GET /session/${SES}/message/msg_1`],
      [(agent) => agent.messages(SES, never), jsonAnswer([ANSWER]), `GET /session/${SES}/message`],
      [(agent) => agent.busySessions(never), jsonAnswer({}), 'GET /session/status'],
      [(agent) => agent.abort(SES, never), done, `POST /session/${SES}/abort`],
      [(agent) => agent.permissionRequests(never), jsonAnswer([]), 'GET /permission'],
      [
        (agent) => agent.answerPermission('per_1', { reply: 'once' }, never),
        done,
        'POST /permission/per_1/reply {"reply":"once","by":"a client of the bridge"}',
      ],
      [
        (agent) => agent.answerPermission('per_1', { reply: 'reject', message: 'no' }, never),
        done,
        'POST /permission/per_1/reply {"reply":"reject","message":"no","by":"a client of the bridge"}',
      ],
      [(agent) => agent.rejectQuestion('que_1', never), done, 'POST /question/que_1/reject'],
      [
        (agent) => agent.prompt(SES, PROMPT, never),
        jsonAnswer(ANSWER),
        `POST /session/${SES}/message {"parts":[{"type":"text","text":"Good morning"}]}`,
      ],
    ];
    for (const [call, answer, expected] of tries) {
      const { agent, asked } = agentOver(() => answer);
      await call(agent);
      assert.equal(asked(), [expected]);
    }
  });

  check('says what begins a turn, and what may be asked of another server after a break', async () => {
    const kinds = new Set<string>();
    for (const [name, call] of Object.entries({
      ...CALLS,
      prompt: (agent: AgentClient) => agent.prompt(SES, PROMPT, never),
    })) {
      const { agent, sent } = agentOver(() => ({}));
      await rejection(call(agent).then(() => Promise.reject(new Error('fine'))));
      for (const { isPrompt, isRepeatable } of sent) {
        if (isPrompt || !isRepeatable)
          kinds.add(`${name}: ${isPrompt ? 'prompt' : 'call'}${isRepeatable ? '' : ' once'}`);
      }
    }
    const once = ['createSession', 'answerAsk', 'rejectQuestion'].map((name) => `${name}: call once`);
    assert.equal([...kinds], [...once, 'prompt: prompt once']);
  });

  check('gives a prompt everything that belongs to it', async () => {
    const { agent, sent } = agentOver(() => jsonAnswer(ANSWER));
    const parts: Prompt['parts'] = [
      { type: 'text', text: 'earlier', synthetic: true },
      { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' },
    ];
    const model = { providerID: 'demo', modelID: 'deep/er' };
    const given = { parts, model, variant: 'high', agent: 'maintainer', system: 'Be brief', hasTools: false };
    const { info } = await agent.prompt(SES, given, never);
    assert.is(info.id, 'msg_2');
    const { hasTools: _, ...reported } = given;
    assert.equal(JSON.parse(sent[0]?.body ?? ''), { ...reported, tools: { '*': false } });
    assert.is(sent[0]?.limitBytes, 64 * 1024 * 1024);
  });

  check('says who it is and which directory it means, with every call', async () => {
    for (const [name, call] of Object.entries({
      ...CALLS,
      prompt: (agent: AgentClient) => agent.prompt(SES, PROMPT, never),
    })) {
      const { agent, sent } = agentOver(() => ({ status: 404 }), { credentials: CREDENTIALS, directory: '/srv/a b&ü' });
      await rejection(call(agent));
      for (const { headers, url } of sent) {
        assert.is(headers.authorization, `Basic ${Buffer.from('opencode:pässword:x').toString('base64')}`, name);
        assert.is(new URL(url).searchParams.get('directory'), '/srv/a b&ü', name);
      }
    }
    const { agent, sent } = agentOver(() => jsonAnswer(SESSION));
    await agent.session(SES, never);
    assert.equal(sent[0]?.headers, { accept: 'application/json' });
    await agent.setMetadata(SES, {}, never);
    assert.equal(sent[1]?.headers, { accept: 'application/json', 'content-type': 'application/json' });
  });

  check('looks at the revision first where the server does not observe it', async () => {
    const stored = { ...SESSION, metadata: { gatehouse: { revision: 3 } } };
    for (const isObserved of [false, true]) {
      const headers = isObserved ? { 'x-gatehouse-if-revision': '3' } : {};
      const { agent, sent, asked } = agentOver(() => ({ ...jsonAnswer(stored), headers }));
      assert.is(await agent.setMetadata(SES, {}, never, 2), 'outdated');
      for (const _ of ['first', 'second']) assert.is(await agent.setMetadata(SES, {}, never, 3), 'stored');
      const methods = asked().map((line) => line.split(' ')[0]);
      assert.equal(methods, ['GET', 'GET', 'PATCH', ...(isObserved ? [] : ['GET']), 'PATCH']);
      assert.is(sent.at(-1)?.headers['x-gatehouse-if-revision'], '3');
    }
    const refusing = agentOver(({ method }) => (method === 'GET' ? jsonAnswer(stored) : { status: 409, text: '' }));
    assert.is(await refusing.agent.setMetadata(SES, {}, never, 3), 'outdated');
  });

  check('finds an agent below a path', async () => {
    const { agent, sent } = agentOver(() => jsonAnswer([]), { baseUrl: 'https://host.test:1/agent//' });
    await agent.permissionRequests(never);
    assert.is(sent[0]?.url, 'https://host.test:1/agent/permission');
  });

  check('lists no session that is below another, and no more than wanted', async () => {
    const listed = [SESSION, { ...SESSION, id: 'ses_child', parentID: SES }, { ...SESSION, id: 'ses_b' }, SESSION];
    const { agent } = agentOver(() => jsonAnswer(listed));
    assert.equal(
      (await agent.sessions(2, never)).map(({ id }) => id),
      [SES, 'ses_b'],
    );
  });

  check('knows which sessions are at work', async () => {
    const statuses = { a: { type: 'busy' }, b: { type: 'retry', attempt: 1, next: 5 }, c: { type: 'idle' } };
    const { agent } = agentOver(() => jsonAnswer(statuses));
    assert.equal([...(await agent.busySessions(never))], ['a', 'b']);
  });

  check('reads an answer that begins with white space', async () => {
    const { agent } = agentOver(() => ({ text: `${' '.repeat(100)}\n${JSON.stringify(ANSWER)}` }));
    const { info, parts } = await agent.prompt(SES, PROMPT, never);
    assert.is(info.role === 'assistant' && info.finish, 'stop');
    assert.equal(
      parts.map(({ type }) => type),
      ['other', 'text'],
    );
  });

  check('asks nothing for an id that could lead elsewhere', async () => {
    for (const id of ['', '..', '.', 'a/b', 'a%2fb', 'a?b', 'a#b', 'a b', 'ü', 'x'.repeat(201)]) {
      const { agent, sent } = agentOver(() => jsonAnswer(true));
      const calls = [
        agent.session(id, never),
        agent.setMetadata(id, {}, never),
        agent.deleteSession(id, never),
        agent.prompt(id, PROMPT, never),
        agent.message(id, 'msg_1', never),
        agent.message(SES, id, never),
        agent.messages(id, never),
        agent.abort(id, never),
        agent.answerPermission(id, { reply: 'once' }, never),
        agent.rejectQuestion(id, never),
      ];
      for (const outcome of calls) assert.is((await faultOf(outcome)).kind, 'not-found');
      assert.equal(sent, []);
    }
  });
});
