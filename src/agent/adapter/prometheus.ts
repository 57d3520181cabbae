import { createServiceMetrics } from '../../adapter/prometheus.ts';
import type { AgentGauges, AgentMetrics } from '../metrics.ts';

/** The agent server's metrics in Prometheus' text format, with those of the process. */
export const createPrometheusAgentMetrics = (version: string): AgentMetrics => {
  const { registry, counter, longTimer, gauge, answered } = createServiceMetrics(version);
  const turns = counter('turns_total', 'Turns by their end', ['end']);
  const turnTime = longTimer('turn_duration_seconds', 'Time from the beginning of a turn to its end', ['end']);
  const modelCalls = counter('model_calls_total', 'Requests to models by their outcome', ['model', 'outcome']);
  const modelTime = longTimer('model_call_duration_seconds', 'Time from request to the end of the answer', ['model']);
  const tokens = counter('tokens_total', 'Tokens that models have counted', ['model', 'kind']);
  const toolCalls = counter('tool_calls_total', 'Tool calls by their outcome', ['server', 'outcome']);
  const retired = counter('sessions_retired_total', 'Sessions that were removed because of their age or number', []);
  const runs = gauge('runs', 'Prompts that are being answered or wait for their turn', ['state']);
  const leases = gauge('leases', 'Sessions that this server works on, and prompts that wait for another server', [
    'state',
  ]);
  const servers = gauge('servers', 'Agent servers on the same store that are alive');
  const permissionRequests = gauge('questions_open', 'Permission requests without an answer');
  const storeUp = gauge('store_up', '1 while the store works');
  const streams = gauge('event_streams_open', 'Event streams that clients read');
  const bodies = gauge('bytes_in_flight', 'Size of what requests in flight hold');
  let read: (() => AgentGauges) | undefined;
  return {
    requestAnswered: answered,
    turnEnded({ end, durationMs }) {
      turns(end, 1, () => ({ end }));
      turnTime(end, durationMs);
    },
    modelCallEnded({ model, outcome, tokens: used, durationMs }) {
      modelCalls(`${outcome} ${model}`, 1, () => ({ model, outcome }));
      modelTime(model, durationMs);
      if (used === undefined) return;
      const { input, output, reasoning, cache } = used;
      const kinds = { input, output, reasoning, cache_read: cache.read, cache_write: cache.write };
      for (const [kind, count] of Object.entries(kinds)) tokens(`${kind} ${model}`, count, () => ({ model, kind }));
    },
    toolCallEnded({ server, outcome }) {
      toolCalls(`${outcome} ${server}`, 1, () => ({ server, outcome }));
    },
    sessionsRetired(sessions) {
      retired('', sessions, () => ({}));
    },
    watch(source) {
      read = source;
    },
    text() {
      const now = read?.();
      runs.set({ state: 'running' }, now?.runsRunning ?? 0);
      runs.set({ state: 'waiting' }, now?.runsWaiting ?? 0);
      leases.set({ state: 'held' }, now?.leasesHeld ?? 0);
      leases.set({ state: 'awaited' }, now?.leasesAwaited ?? 0);
      servers.set(now?.servers ?? 0);
      permissionRequests.set(now?.permissionRequestsOpen ?? 0);
      storeUp.set(now?.isStoreUp === false ? 0 : 1);
      streams.set(now?.streamsOpen ?? 0);
      bodies.set(now?.bytesInFlight ?? 0);
      return registry.metrics();
    },
  };
};
