import * as assert from 'uvu/assert';
import type { AgentClient } from '../../../../src/bridge/agent/types.ts';
import { HttpClientError } from '../../../../src/core/http/client.ts';
import { describe, rejection } from '../../../check.ts';
import { type Answered, agentOver, CALLS, faultOf, jsonAnswer, never, PROMPT, SES } from './world.ts';

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
