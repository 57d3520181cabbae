import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { toolNameFor } from '../../../../src/agent/tools/mcp/agent-tools.ts';
import { describe } from '../../../check.ts';
import { configOf } from '../world.ts';

type ListedTool = { readonly name: string; readonly annotations: { readonly readOnlyHint: boolean } };
const TOOLS: readonly ListedTool[] = JSON.parse(
  readFileSync(new URL('../../../runtime/relay-admin/tools.json', import.meta.url), 'utf8'),
).tools;

describe('the rest of a configuration', (check) => {
  check('has its defaults', () => {
    const { permissionOnceOnly } = configOf({});
    const { mcp, permissionTimeoutMs, turnTimeoutMs, steps, compaction, toolOutput, instructions, warnings } = configOf(
      {},
    );
    assert.equal([permissionTimeoutMs, turnTimeoutMs, steps, mcp.size], [300_000, 1_800_000, 50, 0]);
    assert.equal(compaction, { isAuto: true, reservedTokens: undefined });
    assert.equal(toolOutput, { maxLines: 2000, maxBytes: 51_200 });
    assert.equal([instructions, warnings], [[], []]);
    // Every tool of relay admin that changes something, and no other.
    const changing = TOOLS.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name);
    assert.equal([...permissionOnceOnly].sort(), changing.map((name) => toolNameFor('relay-admin', name)).sort());
  });

  check('is what is written', () => {
    const config = configOf({
      permission_timeout: 1000,
      permission_once_only: ['shop_*', '*_pay'],
      turn_timeout: 2000,
      steps: 5,
      compaction: { auto: false, reserved: 10 },
      tool_output: { max_lines: 1, max_bytes: 2 },
      default_agent: 'plan',
    });
    assert.equal(config.permissionOnceOnly, ['shop_*', '*_pay']);
    assert.equal(configOf({ permission_once_only: [] }).permissionOnceOnly, []);
    assert.equal([config.permissionTimeoutMs, config.turnTimeoutMs], [1000, 2000]);
    assert.equal([config.steps, config.defaultAgent], [5, 'plan']);
    assert.equal(config.compaction, { isAuto: false, reservedTokens: 10 });
    assert.equal(config.toolOutput, { maxLines: 1, maxBytes: 2 });
  });

  check('lists tool servers, the disabled ones too', () => {
    const { mcp } = configOf({
      mcp: {
        near: { type: 'local', command: ['node', 'x.js'], cwd: 'tools', environment: { A: 'b' }, timeout: 5 },
        bare: { type: 'local', command: ['x'] },
        far: { type: 'remote', url: 'https://t.test/mcp?k=v', headers: { a: 'b' }, oauth: false, enabled: false },
      },
    });
    assert.equal(Object.fromEntries(mcp), {
      near: {
        name: 'near',
        isEnabled: true,
        timeoutMs: 5,
        type: 'local',
        command: ['node', 'x.js'],
        cwd: 'tools',
        environment: { A: 'b' },
      },
      bare: {
        name: 'bare',
        isEnabled: true,
        timeoutMs: 30_000,
        type: 'local',
        command: ['x'],
        cwd: undefined,
        environment: {},
      },
      far: {
        name: 'far',
        isEnabled: false,
        timeoutMs: 30_000,
        type: 'remote',
        url: 'https://t.test/mcp?k=v',
        headers: { a: 'b' },
      },
    });
  });
});
