import { createServiceMetrics } from '../../adapter/prometheus.ts';
import type { BridgeMetrics, BridgeReadings } from '../metrics.ts';

/** The bridge's metrics in Prometheus' text format, with those of the process. */
export const createPrometheusBridgeMetrics = (version: string): BridgeMetrics => {
  const { registry, counter, timer, gauge, answered } = createServiceMetrics(version);
  const answers = counter('answers_total', 'Answers of the agent by their end', ['endpoint', 'streamed', 'outcome']);
  const answerTime = timer('answer_duration_seconds', 'Time from request to the end of an answer', ['endpoint']);
  const firstWordTime = timer('first_word_seconds', 'Time from request to the first word of an answer', ['endpoint']);
  const running = gauge('answers_running', 'Answers that are being sent');
  const resumed = gauge('streams_resumed', 'Streams of responses in the background that are read again');
  const bodies = gauge('bytes_in_flight', 'Size of what requests in flight hold');
  const connected = gauge('agent_connected', '1 while the agent server answers');
  const servers = gauge('agent_servers', 'Agent servers that AGENT_BASE_URL names');
  const well = gauge('agent_servers_well', 'Agent servers of these that get requests');
  let read: (() => BridgeReadings) | undefined;
  return {
    recordRequest: answered,
    recordAnswer({ endpoint, isStreamed, outcome, firstWordMs, durationMs }) {
      const streamed = String(isStreamed);
      answers(`${endpoint} ${streamed} ${outcome}`, 1, () => ({ endpoint, streamed, outcome }));
      answerTime(endpoint, durationMs);
      if (firstWordMs !== undefined) firstWordTime(endpoint, firstWordMs);
    },
    watch(source) {
      read = source;
    },
    text() {
      const now = read?.();
      running.set(now?.answersRunning ?? 0);
      resumed.set(now?.streamsResumed ?? 0);
      bodies.set(now?.bytesInFlight ?? 0);
      connected.set(now?.isAgentConnected === true ? 1 : 0);
      servers.set(now?.agentServers.total ?? 0);
      well.set(now?.agentServers.healthy ?? 0);
      return registry.metrics();
    },
  };
};
