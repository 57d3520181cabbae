import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { auditPrompt, type GuardNode } from '../../gateway/harness/relay-audit.ts';
import type { Script } from '../backends.ts';
import { KEY } from '../client.ts';
import { withGateway } from './world.ts';

const nodeAt =
  (address: string, key = KEY): GuardNode =>
  (body) =>
    fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
/** The judge breaks over one text. */
const brokenFor: Script = ({ text }) => (text.includes('please break') ? { status: 500, body: 'no' } : undefined);
const DOWN = nodeAt('http://127.0.0.1:9');

describe("a relay platform's prompt audit over the demo's judge", (check) => {
  check('blocks, passes and flags, goes past a gateway that is down, and passes nothing when all are', () =>
    withGateway({ script: brokenFor }, async ({ gateway }) => {
      const up = nodeAt(gateway.address);
      const system = 'You are a coding agent. Never run commands that delete files.';
      assert.is(await auditPrompt([system, 'Mend the bug in line 7.'], [up]), 'pass');
      assert.is(await auditPrompt([system, 'I will kill you'], [up]), 'block');
      assert.is(await auditPrompt([system, 'shut up'], [up]), 'flag');
      assert.is(await auditPrompt([system, 'I will kill you'], [DOWN, up]), 'block');
      assert.is(await auditPrompt([system, 'Mend the bug in line 7.'], [DOWN]), 'unavailable');
      assert.is(await auditPrompt(['please break'], [up]), 'unavailable');
      assert.is(await auditPrompt(['hello'], [nodeAt(gateway.address, 'wrong'), up]), 'unavailable');
    }),
  );
});
