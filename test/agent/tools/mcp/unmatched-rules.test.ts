import * as assert from 'uvu/assert';
import { findUnmatchedRules } from '../../../../src/agent/tools/mcp/unmatched-rules.ts';
import { describe } from '../../../check.ts';
import { createAgentWorld, toolNamed } from '../../harness/world.ts';

const CONNECTED = { status: 'connected' } as const;
const TOOLS = ['task', 'relay-admin_read', 'relay-admin_recharge'];
const unmatched = (permissions: readonly string[], more: object = {}): readonly string[] =>
  findUnmatchedRules({ permissions, tools: TOOLS, statuses: { 'relay-admin': CONNECTED }, ...more });

describe('a rule that is about no tool', (check) => {
  check('is known by the names of all tools', () => {
    const slips = ['relay-admin_recharg', 'relay_admin_*', 'relay-admin_*x', 'bash*', 'relay-admin_recharge?'];
    const right = ['*', 'relay-admin_*', 'relay-admin_read', 'ta*', 'task', '*e'];
    assert.equal(unmatched([...right, ...slips, ...slips]), slips);
  });

  check('is left to the start where it is a plain name that no server could give', () => {
    assert.equal(unmatched(['bash', 'edit', 'relay-admin']), []);
  });

  check('is not called so while a server is away that may have the tool', () => {
    const away = (status: object) =>
      unmatched(['docs_*', '*_docs', 'docs_x', 'd*', 'mail_*'], {
        statuses: { 'relay-admin': CONNECTED, docs: status },
      });
    assert.equal(away({ status: 'failed', error: 'x' }), ['mail_*']);
    assert.equal(away({ status: 'disabled' }), ['mail_*']);
    assert.equal(away(CONNECTED), ['docs_*', '*_docs', 'docs_x', 'd*', 'mail_*']);
  });

  check('is reported once, when the tool servers have had their chance', async () => {
    const gate = Promise.withResolvers<void>();
    const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' as const });
    const world = await createAgentWorld({
      rules: [rule('*'), rule('relay_*'), rule('web_*')],
      agents: [{ name: 'other', rules: [rule('relay_*'), rule('relay_read')] }],
      changes: {
        mcp: () => ({
          start: () => {},
          settled: () => gate.promise,
          statuses: () => ({ relay: CONNECTED }),
          instructions: () => [],
          connect: async () => 'not-found',
          disconnect: async () => 'not-found',
          tools: () => [toolNamed('web_fetch')],
          stop: async () => {},
        }),
      },
    });
    const reported = () => world.logged.filter((line) => line.includes('rule-matches-no-tool'));
    assert.equal(reported(), []);
    gate.resolve();
    await world.clock.advance(0);
    assert.equal(
      reported().map((line) => [JSON.parse(line).level, JSON.parse(line).tool]),
      [
        ['warn', 'relay_*'],
        ['warn', 'relay_read'],
      ],
    );
  });
});
