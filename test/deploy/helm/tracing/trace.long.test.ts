import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import {
  CALLER,
  CALLERS_TRACEPARENT,
  type CollectedSpan,
  startCollector,
} from '../../../adapter/opentelemetry/collector.ts';
import { describe } from '../../../check.ts';
import { CANARIES, inRelayWorld, type RelayWorld, until } from '../../../runtime/agent/world.ts';
import { rechargesSeen } from '../../../runtime/relay-admin/world.ts';
import { AGENT, ALL, BRIDGE } from '../cases.ts';
import { startService } from '../service.ts';
import { agentTextIn, filled, type Manifest, MISSING, manifests, only, type Values } from '../world.ts';

/** The chart's own configuration with a relay, but for what is only in its cluster: the model's address and the volume. */
const configFile = ({ directory, modelAddress }: RelayWorld, all: readonly Manifest[]): string => {
  const text = agentTextIn(all)
    .replace('https://ollama.com', modelAddress)
    .replace('/data/relay-journal.jsonl', join(directory, 'journal.jsonl'))
    .replace('"default_agent": "build"', '"default_agent": "maintainer"');
  const file = join(directory, 'agent.json');
  writeFileSync(file, text);
  return file;
};

/** Has someone recharged in a chat over the bundles, in the caller's trace, and ends them. */
const rechargeInChat = async (world: RelayWorld, values: Values): Promise<void> => {
  const all = manifests(values);
  const deployment = only(all, 'Deployment', 'agent');
  const agent = await startService(deployment, {
    AGENT_CONFIG: configFile(world, all),
    AGENT_DATABASE_URL: `sqlite:${world.database}`,
    RELAY_ADMIN_API_KEY: CANARIES.adminKey,
  });
  const bridge = await startService(only(all, 'Deployment', 'bridge'), { AGENT_BASE_URL: agent.address });
  try {
    const { AGENT_SERVER_USERNAME, AGENT_SERVER_PASSWORD } = filled(deployment);
    const credentials = Buffer.from(`${AGENT_SERVER_USERNAME}:${AGENT_SERVER_PASSWORD}`).toString('base64');
    const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' };
    const asked = async <T>(path: string, init: RequestInit = {}): Promise<T> =>
      (await (await fetch(new URL(path, agent.address), { ...init, headers })).json()) as T;
    await until('the tool server is connected', async () => {
      const servers = await asked<Readonly<Record<string, { readonly status: string }>>>('/mcp');
      return servers['relay-admin']?.status === 'connected';
    });
    const chat = fetch(new URL('/v1/chat/completions', bridge.address), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${filled(only(all, 'Deployment', 'bridge')).BRIDGE_API_KEYS}`,
        'content-type': 'application/json',
        traceparent: CALLERS_TRACEPARENT,
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'recharge alice@example.com 5' }] }),
    });
    let questions: readonly { readonly id: string }[] = [];
    await until('a person is asked', async () => {
      questions = await asked('/permission');
      return questions.length > 0;
    });
    await asked(`/permission/${questions[0]?.id}/reply`, { method: 'POST', body: '{"reply":"once"}' });
    assert.is((await chat).status, 200);
    await until('the turn has ended', async () => Object.keys(await asked<object>('/session/status')).length === 0);
  } finally {
    assert.equal(await Promise.all([bridge.end(), agent.end()]), [0, 0]);
  }
};

describe('one trace by the values of the chart', (check) => {
  check.needing(
    MISSING,
    'leads from a chat over bridge, agent and the relay admin of agent.relay to the credit',
    inRelayWorld(async (world) => {
      const collector = await startCollector();
      try {
        await rechargeInChat(world, {
          ...ALL,
          gateway: { enabled: false },
          agent: {
            ...AGENT,
            relay: { enabled: true, baseUrl: world.relay.origin, allowedHost: world.relay.hostname },
          },
          bridge: BRIDGE,
          tracing: { endpoint: collector.url, resourceAttributes: { 'deployment.environment.name': 'a test' } },
        });
        const [recharge] = rechargesSeen(world.relay.control);
        const [, traceId, spanId] = /^00-(\w+)-(\w+)-01$/.exec(recharge?.headers.traceparent ?? '') ?? [];
        assert.is(traceId, CALLER.traceId);
        // From the credit up to the caller.
        const path: CollectedSpan[] = [];
        for (let id = spanId; id !== CALLER.spanId; id = path.at(-1)?.parentSpanId) {
          const span = collector.spans.find((one) => one.spanId === id);
          assert.ok(span, `no span ${id} above ${path.map(({ name }) => name).join(', ')}`);
          path.push(span);
        }
        assert.equal(
          path.map(({ service, name }) => `${service} ${name}`),
          [
            'gatehouse-relay-admin POST',
            'gatehouse-relay-admin tools/call recharge',
            'gatehouse-agent execute_tool relay-admin_recharge',
            'gatehouse-agent invoke_agent maintainer',
            'gatehouse-agent POST /gatehouse/turns',
            'gatehouse-bridge POST /gatehouse/turns',
            'gatehouse-bridge POST /v1/chat/completions',
          ],
        );
        for (const { resource } of path) assert.is(resource['deployment.environment.name'], 'a test');
      } finally {
        await collector.close();
      }
    }),
  );
});
