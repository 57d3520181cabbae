import * as assert from 'uvu/assert';
import type { AgentClient } from '../../../../src/bridge/agent/types.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { describe } from '../../../check.ts';
import { ANSWER, type Answered, agentOver, CALLS, faultOf, jsonAnswer, never, PROMPT, SES } from './world.ts';

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
