import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { type Answered, agentOver, faultOf, jsonAnswer, never, PROMPT, SES } from './world.ts';

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
      const hint =
        'The agent server knows no such thing. If it is so for every request, check AGENT_BASE_URL, without a path';
      assert.equal(detail, { kind: 'not-found', hint });
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
