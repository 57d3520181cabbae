import * as assert from 'uvu/assert';
import { createAgentClient } from '../../../src/bridge/agent/client.ts';
import type { AgentHttpClient } from '../../../src/bridge/agent/servers.ts';
import type { AgentClient, Prompt } from '../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../src/bridge/errors.ts';
import { Fault } from '../../../src/core/fault.ts';
import { HttpClientError, type HttpRequest, type HttpResponse } from '../../../src/core/http/client.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const CREDENTIALS = { username: 'opencode', password: 'pässword:x' };
const SES = 'ses_e003a9f5dffe5uRdHWNjeuSD3I';
const SESSION = {
  id: SES,
  slug: 'misty',
  title: 'a',
  metadata: { gatehouse: { a: 1 } },
  time: { created: 1, updated: 2 },
};
const ANSWER = {
  info: {
    id: 'msg_2',
    sessionID: SES,
    role: 'assistant',
    parentID: 'msg_1',
    modelID: 'main',
    providerID: 'demo',
    time: { created: 1, completed: 2 },
    tokens: { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } },
    finish: 'stop',
  },
  parts: [
    { id: 'prt_1', sessionID: SES, messageID: 'msg_2', type: 'step-start' },
    { id: 'prt_2', sessionID: SES, messageID: 'msg_2', type: 'text', text: 'Hello', time: { start: 1, end: 2 } },
  ],
};
const PROMPT: Prompt = {
  parts: [{ type: 'text', text: 'Good morning' }],
  model: undefined,
  variant: undefined,
  agent: undefined,
  system: '',
  hasTools: true,
};
const never = new AbortController().signal;

type Answered = {
  readonly status?: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
};
const received = ({ status = 200, text = 'true', headers = {} }: Answered): HttpResponse => ({
  status,
  text,
  header: (name) => headers[name] ?? null,
});
const jsonAnswer = (value: unknown): Answered => ({ text: JSON.stringify(value) });

/** The agent over an exchange that answers as it is told to, and what was sent over it. */
const agentOver = (answerTo: (sent: HttpRequest) => Answered | Promise<Answered>, changes = {}) => {
  const sent: Parameters<AgentHttpClient>[0][] = [];
  const clock = createFakeClock();
  const httpClient: AgentHttpClient = async (one) => {
    sent.push(one);
    const left = new Promise<never>((_, reject) =>
      one.signal.addEventListener('abort', () => reject(one.signal.reason)),
    );
    return received(await Promise.race([answerTo(one), left]));
  };
  const agent = createAgentClient({
    httpClient,
    clock,
    runInSlices: createTimeSlices(clock),
    baseUrl: 'http://agent.test/',
    ...changes,
  });
  const asked = () =>
    sent.map(({ method, url, body }) => `${method} ${url.replace('http://agent.test', '')} ${body ?? ''}`.trim());
  return { agent, clock, sent, asked };
};

const faultOf = async (outcome: Promise<unknown>): Promise<BridgeFault> => {
  const error = await rejection(outcome);
  if (error instanceof Fault) return error.detail;
  throw error;
};
/** Every call but the prompt. */
const CALLS: Readonly<Record<string, (agent: AgentClient, signal?: AbortSignal) => Promise<unknown>>> = {
  models: (agent, signal = never) => agent.models(signal),
  createSession: (agent, signal = never) => agent.createSession({ title: 'a', metadata: {} }, signal),
  session: (agent, signal = never) => agent.session(SES, signal),
  sessions: (agent, signal = never) => agent.sessions(5, signal),
  setMetadata: (agent, signal = never) => agent.setMetadata(SES, {}, signal),
  deleteSession: (agent, signal = never) => agent.deleteSession(SES, signal),
  message: (agent, signal = never) => agent.message(SES, 'msg_1', signal),
  messages: (agent, signal = never) => agent.messages(SES, signal),
  busySessions: (agent, signal = never) => agent.busySessions(signal),
  abort: (agent, signal = never) => agent.abort(SES, signal),
  asks: (agent, signal = never) => agent.permissionRequests(signal),
  answerAsk: (agent, signal = never) => agent.answerPermission('per_1', { reply: 'once' }, signal),
  rejectQuestion: (agent, signal = never) => agent.rejectQuestion('que_1', signal),
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

describe('an agent that is late', (check) => {
  for (const [name, call] of Object.entries(CALLS)) {
    check(`is waited for ten seconds (${name})`, async () => {
      const { agent, clock } = agentOver(() => new Promise(() => {}));
      const outcome = faultOf(call(agent));
      let isOver = false;
      void outcome.then(() => (isOver = true));
      await clock.advance(9_999);
      assert.not.ok(isOver);
      await clock.advance(1);
      assert.equal(await outcome, { kind: 'backend-timeout' });
      assert.is(clock.pending(), 0);
    });
  }

  check('is waited for as long as it is said', async () => {
    const { agent, clock } = agentOver(() => new Promise(() => {}), { callLimitMs: 500 });
    const outcome = faultOf(agent.permissionRequests(never));
    await clock.advance(500);
    assert.equal(await outcome, { kind: 'backend-timeout' });
  });

  check('may take hours for a prompt', async () => {
    const answer = Promise.withResolvers<Answered>();
    const { agent, clock } = agentOver(() => answer.promise);
    const outcome = agent.prompt(SES, PROMPT, never);
    assert.is(clock.pending(), 0);
    await clock.advance(36_000_000);
    answer.resolve(jsonAnswer(ANSWER));
    assert.is((await outcome).info.id, 'msg_2');
  });

  check('leaves no call without a limit when the other of two has failed', async () => {
    const { agent, sent, clock } = agentOver(({ url }) =>
      url.endsWith('/config') ? { status: 500 } : new Promise<Answered>(() => {}),
    );
    await faultOf(agent.models(never));
    assert.ok(sent[0]?.signal.aborted);
    assert.is(clock.pending(), 0);
  });

  for (const [name, call] of Object.entries({
    ...CALLS,
    prompt: (agent: AgentClient, signal = never) => agent.prompt(SES, PROMPT, signal),
  })) {
    check(`is left at once with its caller (${name})`, async () => {
      const leaving = new AbortController();
      const { agent, clock, sent } = agentOver(() => new Promise(() => {}));
      const outcome = faultOf(call(agent, leaving.signal));
      leaving.abort();
      assert.equal(await outcome, { kind: 'client-left' });
      assert.ok(sent.every(({ signal }) => signal.aborted));
      assert.is(clock.pending(), 0);
    });
  }

  check('is left for the reason that the caller has', async () => {
    const leaving = new AbortController();
    const { agent } = agentOver(() => new Promise(() => {}));
    const outcome = faultOf(agent.prompt(SES, PROMPT, leaving.signal));
    leaving.abort(new Fault({ kind: 'backend-timeout' }));
    assert.equal(await outcome, { kind: 'backend-timeout' });
  });
});

describe('an agent that refuses', (check) => {
  const SECRET = 'canary of the agent';
  const asking = (answer: Answered) => ({
    call: () => faultOf(agentOver(() => answer).agent.permissionRequests(never)),
    prompt: () => faultOf(agentOver(() => answer).agent.prompt(SES, PROMPT, never)),
  });

  check('is distinguished by its status', async () => {
    const agentFailed = (code: string, message: string) => ({ kind: 'agent-failed', status: 502, code, message });
    const unauthorized =
      "The agent server refused the bridge's credentials: check AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD";
    const expected: readonly (readonly [number, Readonly<Record<string, unknown>>])[] = [
      [401, agentFailed('agent_unauthorized', unauthorized)],
      ...[301, 402, 403, 405, 409, 429, 500, 501].map(
        (status) => [status, agentFailed('agent_refused', `The agent server refused with status ${status}`)] as const,
      ),
    ];
    for (const [status, detail] of expected) {
      const { call, prompt } = asking({ status, text: JSON.stringify({ name: SECRET, data: { message: SECRET } }) });
      assert.equal(await call(), { ...detail, isRetryable: true });
      assert.equal(await prompt(), { ...detail, isRetryable: false });
    }
  });

  check('may know no such thing', async () => {
    const { call, prompt } = asking({ status: 404, text: SECRET });
    for (const detail of [await call(), await prompt()]) {
      assert.equal(detail, { kind: 'not-found', hint: 'The agent server knows no such thing' });
    }
  });

  check('says when to come back', async () => {
    for (const [header, retryAfterMs] of [
      ['7', 7000],
      ['no number', 1000],
      ['-5', 1000],
      ['', 1000],
    ] as const) {
      const { call, prompt } = asking({ status: 503, text: SECRET, headers: { 'retry-after': header } });
      for (const detail of [await call(), await prompt()]) {
        assert.equal(detail, { kind: 'unavailable', message: 'The agent server is not ready', retryAfterMs });
      }
    }
  });

  check('is quoted in one short line where it says what was wrong with the request', async () => {
    const quoted = async (message: unknown) => {
      const detail = await asking({ status: 400, ...jsonAnswer({ name: 'BadRequest', data: { message } }) }).prompt();
      assert.is(detail.kind === 'agent-failed' && detail.code, 'agent_refused');
      return detail.kind === 'agent-failed' ? detail.message : '';
    };
    const begun = 'The agent server refused with status 400';
    assert.is(await quoted('model: no such model'), `${begun}: model: no such model`);
    assert.is(await quoted(' a\r\n  b\u0000\u202e c\u2028d '), `${begun}: a b c d`);
    assert.is(await quoted('x'.repeat(1000)), `${begun}: ${'x'.repeat(200)}`);
    assert.is(await quoted(`${'x'.repeat(199)}😀`), `${begun}: ${'x'.repeat(199)}\ufffd`);
    for (const none of ['', '  ', 5, undefined]) assert.is(await quoted(none), begun);
    assert.match((await asking({ status: 400, text: '{"_tag":"BadRequest"}' }).call()).kind, 'agent-failed');
  });

  check('is named by its limit where a prompt is too large, and says what to do', async () => {
    const todo = 'Send less: shorter texts, smaller files, or fewer earlier messages in a new conversation';
    const detailOf = async (text: string) => {
      const { call, prompt } = asking({ status: 413, text });
      const other = await call();
      assert.is(other.kind === 'agent-failed' && other.message, 'The agent server refused with status 413');
      return prompt();
    };
    const tooLarge = { kind: 'agent-failed', status: 413, code: 'prompt_too_large', isRetryable: false };
    assert.equal(await detailOf(JSON.stringify({ data: { message: 'The body may have 9 bytes' } })), {
      ...tooLarge,
      message: `The prompt is too large for the agent server: The body may have 9 bytes. ${todo}`,
    });
    const message = `The prompt is too large for the agent server. ${todo}`;
    assert.equal(await detailOf('<html>413 nginx</html>'), { ...tooLarge, message });
  });

  check('may have begun to answer a prompt that a proxy has lost', async () => {
    for (const status of [502, 504]) {
      const { call, prompt } = asking({ status, text: SECRET });
      const detail = await prompt();
      assert.is(detail.kind === 'agent-failed' && detail.code, 'agent_lost');
      assert.is(detail.kind === 'agent-failed' && detail.isRetryable, false);
      const other = await call();
      assert.is(other.kind === 'agent-failed' && other.code, 'agent_refused');
    }
  });
});

describe('an agent that answers wrongly', (check) => {
  const WRONG = ['<!doctype html><title>OpenCode</title>', '', 'null', '[]', '{"canary":1}', '"canary"', '{"info":{}'];
  for (const [name, call] of Object.entries({
    ...CALLS,
    prompt: (agent: AgentClient) => agent.prompt(SES, PROMPT, never),
  })) {
    check(`is not understood (${name})`, async () => {
      const fitting = { asks: ['[]'], messages: ['[]'], sessions: ['[]'], busySessions: ['[]'] }[name] ?? [];
      for (const text of WRONG.filter((wrong) => !fitting.includes(wrong))) {
        const detail = await faultOf(call(agentOver(() => ({ text })).agent));
        assert.equal(detail, {
          kind: 'agent-failed',
          status: 502,
          code: 'agent_unusable',
          message: 'The agent server answered in a form that is not OpenCode 1.x: check AGENT_BASE_URL',
          isRetryable: name !== 'prompt',
        });
      }
    });
  }

  check('may report its store there, in words for who runs it, and not as a wrong address', async () => {
    const rest = ', so that it cannot store anything. Its operator has to look at it: see its log and its /ready';
    for (const [given, status, code, message] of [
      ['disk_full', 507, 'agent_disk_full', 'The disk of the agent server is full'],
      ['disk_failing', 502, 'agent_store_failed', 'The disk of the agent server fails'],
      ['store_damaged', 502, 'agent_store_failed', 'The database of the agent server is damaged'],
    ] as const) {
      const text = ` ${JSON.stringify({ name: 'Any', data: { message: 'canary', code: given } })}`;
      const expected = { kind: 'agent-failed', status, code, message: `${message}${rest}` };
      const promptOver = (answer: Answered) => faultOf(agentOver(() => answer).agent.prompt(SES, PROMPT, never));
      // After its beginning, the turn may have called tools. A refused prompt has begun nothing.
      assert.equal(await promptOver({ text }), { ...expected, isRetryable: false });
      assert.equal(await promptOver({ status: 507, text }), { ...expected, isRetryable: true });
    }
  });

  check('may report its own failure where the answer should be', async () => {
    const text = `   ${JSON.stringify({ name: 'UnknownError', data: { message: 'canary' } })}`;
    assert.equal(await faultOf(agentOver(() => ({ text })).agent.prompt(SES, PROMPT, never)), {
      kind: 'agent-failed',
      status: 502,
      code: 'agent_failed',
      message: 'The agent server failed (UnknownError)',
      isRetryable: false,
    });
  });
});

describe('an agent that is not there', (check) => {
  const breaking = (code: string) => agentOver(() => Promise.reject(new HttpClientError(code))).agent;

  check('was sent nothing when no connection was made', async () => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED']) {
      const expected = {
        kind: 'backend-error',
        reason: `The agent server cannot be reached (${code}): check AGENT_BASE_URL and that it runs`,
      };
      assert.equal(await faultOf(breaking(code).permissionRequests(never)), expected);
      assert.equal(await faultOf(breaking(code).prompt(SES, PROMPT, never)), expected);
    }
  });

  check('may be at work on a prompt that broke off', async () => {
    for (const code of ['ECONNRESET', 'EPIPE', 'CONNECTION_FAILED', 'ETIMEDOUT']) {
      const broken = breaking(code);
      const reason = `The agent server broke off (${code})`;
      assert.equal(await faultOf(broken.permissionRequests(never)), { kind: 'backend-error', reason });
      assert.equal(await faultOf(broken.prompt(SES, PROMPT, never)), {
        kind: 'agent-failed',
        status: 502,
        code: 'agent_lost',
        message: `The agent server broke off (${code}), and may be at work on the answer`,
        isRetryable: false,
      });
    }
  });

  check('says too much, and is not listened to', async () => {
    const detail = await faultOf(breaking('ANSWER_TOO_LARGE').messages(SES, never));
    assert.is(detail.kind === 'agent-failed' && detail.code, 'agent_answer_too_large');
    const { agent, sent } = agentOver(() => jsonAnswer([]));
    await agent.messages(SES, never);
    await agent.permissionRequests(never);
    await agent.sessions(10_000, never);
    assert.equal(
      sent.map(({ limitBytes }) => limitBytes),
      [64 * 1024 * 1024, 8 * 1024 * 1024, 64 * 1024 * 1024],
    );
  });

  check('leaves a bug a bug', async () => {
    const bug = new TypeError('broken');
    const { agent } = agentOver(() => Promise.reject(bug));
    assert.is(await rejection(agent.permissionRequests(never)), bug);
  });
});
