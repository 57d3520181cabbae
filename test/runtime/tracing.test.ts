import * as assert from 'uvu/assert';
import {
  CALLER,
  CALLERS_TRACEPARENT,
  type CollectedSpan,
  type Collector,
  startCollector,
} from '../adapter/opentelemetry/collector.ts';
import { describe } from '../check.ts';
import { type AgentProcess, PASSWORD, USER } from './agent/process.ts';
import { CANARIES, exampleSettings, inRelayWorld, nextQuestion, type RelayWorld, until } from './agent/world.ts';
import { BRIDGE_KEY, startBridgeAt } from './bridge/world.ts';
import type { Running } from './processes.ts';
import { rechargesSeen } from './relay-admin/world.ts';

const ALICE = 'alice@example.com';
const STEPS = ['find_user', 'preview_recharge', 'recharge'];

/** An agent server with these variables of OpenTelemetry, and the example's maintainer and tool server, which is given none of them by name. */
const startMaintainer = async (world: RelayWorld, tracing: Readonly<Record<string, string>>): Promise<AgentProcess> => {
  const settings = exampleSettings(world, world.relay);
  const content = JSON.parse(settings.AGENT_CONFIG_CONTENT ?? '{}') as {
    mcp: { 'relay-admin': { command: readonly string[] } };
  };
  content.mcp['relay-admin'].command = ['gatehouse', 'relay-admin'];
  const AGENT_CONFIG_CONTENT = JSON.stringify({ ...content, default_agent: 'maintainer' });
  const agent = await world.start({ variables: { ...settings, AGENT_CONFIG_CONTENT, ...tracing } });
  await until('the tool server is connected', async () => {
    const { json } = await agent.ask<Readonly<Record<string, { status: string }>>>('GET', '/mcp');
    return json['relay-admin']?.status === 'connected';
  });
  return agent;
};

/** Has alice recharged in a chat over a bridge, in the caller's trace, and lets all that took part end. */
const rechargeInChat = async (world: RelayWorld, tracing: Readonly<Record<string, string>>): Promise<void> => {
  const agent = await startMaintainer(world, tracing);
  const bridge = await startBridgeAt(
    { address: agent.address, user: USER, password: PASSWORD },
    { bridge: { ...tracing } },
  );
  try {
    const chat = bridge.send('/v1/chat/completions', {
      method: 'POST',
      headers: { traceparent: CALLERS_TRACEPARENT },
      body: JSON.stringify({ messages: [{ role: 'user', content: `recharge ${ALICE} 5` }], user: 'canary-user' }),
    });
    const question = await nextQuestion(agent);
    assert.is((await agent.ask('POST', `/permission/${question.id}/reply`, { reply: 'once' })).status, 200);
    assert.is((await chat).status, 200);
    await until('the recharge was made', () => world.relay.control.credits().length === 1);
    await until('the turn has ended', async () => {
      const { json } = await agent.ask<object>('GET', '/session/status');
      return Object.keys(json).length === 0;
    });
    const end = async (running: Running): Promise<void> => {
      running.signal('SIGTERM');
      assert.is((await running.ended).code, 0);
    };
    await Promise.all([end(bridge.running), end(agent.running)]);
  } finally {
    await bridge.running.kill();
  }
};

const spansOf = ({ spans }: Collector, service: string): readonly CollectedSpan[] =>
  spans.filter((span) => span.service === `gatehouse-${service}`);
const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const [only, another] = spans.filter((span) => span.name === name);
  if (only === undefined || another !== undefined)
    throw new Error(`Expected one span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return only;
};
const childrenOf = (spans: readonly CollectedSpan[], { spanId }: CollectedSpan): readonly CollectedSpan[] =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);

describe('one trace', (check) => {
  check(
    'leads from a chat over bridge, agent, model, tool call and relay admin to the relay, with no text and no key in it',
    inRelayWorld(async (world) => {
      const collector = await startCollector();
      try {
        await rechargeInChat(world, {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=canary-collector-key',
        });
        const all = collector.spans.filter(({ traceId }) => traceId === CALLER.traceId);
        const chat = named(spansOf(collector, 'bridge'), 'POST /v1/chat/completions');
        assert.equal([chat.traceId, chat.parentSpanId], [CALLER.traceId, CALLER.spanId]);
        const prompting = named(childrenOf(all, chat), 'POST /gatehouse/turns');
        const prompted = named(childrenOf(all, prompting), 'POST /gatehouse/turns');
        assert.equal([prompting.service, prompted.service], ['gatehouse-bridge', 'gatehouse-agent']);
        const turn = named(childrenOf(all, prompted), 'invoke_agent maintainer');
        const chats = childrenOf(all, turn).filter(({ name }) => name.startsWith('chat '));
        assert.ok(chats.length >= 4, String(chats.length));
        // What the model has received, by its headers.
        const received = world.model.requests().map(({ headers }) => headers.traceparent);
        for (const { traceId, spanId } of chats) assert.ok(received.includes(`00-${traceId}-${spanId}-01`));
        const requests = world.relay.control.requests();
        for (const step of STEPS) {
          const call = named(childrenOf(all, turn), `execute_tool relay-admin_${step}`);
          const served = named(childrenOf(all, call), `tools/call ${step}`);
          assert.equal([served.service, served.isError], ['gatehouse-relay-admin', false]);
          const sent = childrenOf(all, served);
          assert.ok(sent.length > 0, step);
          for (const { traceId, spanId, attributes } of sent) {
            const request = requests.find(({ headers }) => headers.traceparent === `00-${traceId}-${spanId}-01`);
            assert.is(request?.method, attributes['http.request.method']);
          }
        }
        // The credit itself.
        const [recharge] = rechargesSeen(world.relay.control);
        const traced = /^00-(\w+)-(\w+)-01$/.exec(recharge?.headers.traceparent ?? '');
        const last = all.find(({ spanId }) => spanId === traced?.[2]);
        assert.equal([traced?.[1], last?.service, last?.name], [CALLER.traceId, 'gatehouse-relay-admin', 'POST']);
        const texts = collector.texts.join('\n');
        for (const secret of [...Object.values(CANARIES), BRIDGE_KEY, 'canary', 'alice', 'recharge alice', 'users/'])
          assert.is(texts.includes(secret), false, secret);
      } finally {
        await collector.close();
      }
    }),
  );

  check(
    'is passed on from the bridge to the relay without an exporter',
    inRelayWorld(async (world) => {
      await rechargeInChat(world, {});
      const [recharge] = rechargesSeen(world.relay.control);
      assert.is(recharge?.headers.traceparent, CALLERS_TRACEPARENT);
      const asked = world.model.requests().map(({ headers }) => headers.traceparent);
      assert.equal([...new Set(asked)], [CALLERS_TRACEPARENT]);
    }),
  );
});
