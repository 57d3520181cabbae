import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createMcpTransports } from '../../../src/agent/adapter/mcp/transports.ts';
import { createMcpWorld } from '../../agent/tools/mcp/world.ts';
import { describe } from '../../check.ts';
import { ROOT } from '../processes.ts';
import { TOOLS } from '../relay-admin/tool-calls.ts';

const BUNDLE = join(ROOT, 'dist/relay-admin.js');
const missing = existsSync(BUNDLE) ? undefined : 'built dist/relay-admin.js';

describe('the relay admin bundle as a tool server of the agent server', (check) => {
  check.needing(missing, 'offers its nine tools and answers them', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'agent-relay-admin-'));
    const world = createMcpWorld({
      servers: {
        'relay-admin': {
          name: 'demo',
          type: 'local',
          command: [process.execPath, BUNDLE],
          cwd: directory,
          environment: { RELAY_BASE_URL: 'http://127.0.0.1:1', RELAY_ALLOWED_HOST: '127.0.0.1' },
          isEnabled: true,
          timeoutMs: 20_000,
        },
      },
      transports: createMcpTransports(),
      clock: systemClock,
    });
    world.servers.start();
    try {
      await world.servers.settled(20_000, new AbortController().signal);
      assert.equal(world.servers.statuses(), { 'relay-admin': { status: 'connected' } });
      assert.equal([...world.toolNames()].sort(), TOOLS.map((name) => `relay-admin_${name}`).sort());
      for (const { name, description, inputSchema } of world.servers.tools()) {
        assert.is(inputSchema.type, 'object', name);
        assert.ok(description.length > 20 && !description.endsWith('…'), name);
      }
      const [{ server, text } = { server: '', text: '' }] = world.servers.instructions();
      assert.is(server, 'relay-admin');
      assert.match(text, 'Call describe first');
      const described = await world.call('relay-admin_describe');
      assert.is(described.isError, false);
      assert.type(JSON.parse(described.output), 'object');
      const refused = await world.call('relay-admin_recharge', {});
      assert.is(refused.isError, true);
      assert.match(refused.output, /^[A-Z_]+: .*outcome=not_applied/);
    } finally {
      await world.servers.stop();
      rmSync(directory, { recursive: true, force: true });
    }
    assert.equal(world.servers.statuses(), { 'relay-admin': { status: 'disabled' } });
  });
});
