import { Gauge, type Registry } from 'prom-client';
import { createServiceMetrics, toSeconds } from '../../adapter/prometheus.ts';
import { COOL_DOWN_REASONS, type KeyStatus } from '../../llm/key-state.ts';
import type { GatewayMetrics, GatewayReadings } from '../metrics.ts';

type GatewayMetricsOptions = {
  readonly version: string;
  /** Undefined when no state is shared: then the metric is left out. */
  readonly isSharedStateUp?: (() => boolean) | undefined;
};

const KEY_STATES: readonly KeyStatus['state'][] = ['active', 'cooling', 'half-open', 'probing'];
/** Creates the gauges of the gateway's current state. Each call of the result sets all of them. */
const createReadingGauges = (registers: Registry[]): ((readings: GatewayReadings) => void) => {
  const gauge = <Name extends string>(name: string, help: string, labelNames: readonly Name[] = []) =>
    new Gauge<Name>({ name: `gatehouse_${name}`, help, labelNames, registers });
  const keyState = gauge('backend_key_state', '1 for the state a backend key is in', ['key', 'state']);
  const keyReason = gauge('backend_key_reason', '1 for the reason why a backend key is not active', ['key', 'reason']);
  const keyRest = gauge('backend_key_rest_seconds', 'Remaining cool-down of a backend key', ['key']);
  const breakerOpen = gauge('backend_breaker_open', '1 while nothing is sent to the backend host');
  const running = gauge('backend_calls_running', 'Calls to the backend that are running');
  const waiting = gauge('backend_calls_waiting', 'Calls to the backend that wait in the queue');
  const waitingLimit = gauge('backend_calls_waiting_limit', 'Calls to the backend that may wait in the queue');
  const cached = gauge('cached_verdicts', 'Verdicts in the memory of this process');
  const bodies = gauge('bytes_in_flight', 'Size of what requests in flight hold');
  const largeTexts = gauge('large_texts', 'Large texts that are decoded or wait for that');
  return ({ keys, breaker, callsRunning, callsWaiting, cachedVerdicts, bytesInFlight, ...readings }) => {
    for (const { fingerprint, state, coolDownMs, reason } of keys) {
      for (const name of KEY_STATES) keyState.set({ key: fingerprint, state: name }, name === state ? 1 : 0);
      for (const name of COOL_DOWN_REASONS) keyReason.set({ key: fingerprint, reason: name }, name === reason ? 1 : 0);
      keyRest.set({ key: fingerprint }, toSeconds(coolDownMs));
    }
    breakerOpen.set(breaker.state === 'open' ? 1 : 0);
    running.set(callsRunning);
    waiting.set(callsWaiting);
    waitingLimit.set(readings.callsWaitingLimit);
    cached.set(cachedVerdicts);
    bodies.set(bytesInFlight);
    largeTexts.set(readings.largeTexts);
  };
};

/** The gateway's metrics in Prometheus' text format, with those of the process. */
export const createPrometheusGatewayMetrics = ({ version, isSharedStateUp }: GatewayMetricsOptions): GatewayMetrics => {
  const { registry, registers, answered, counter, timer } = createServiceMetrics(version);
  const calls = counter('backend_calls_total', 'Calls to the backend by their outcome', ['outcome', 'model']);
  const callTime = timer('backend_call_duration_seconds', 'Time of one call to the backend', ['model']);
  const verdicts = counter('verdicts_total', 'Items judged', ['alias', 'flagged', 'cached']);
  const unjudged = counter('flagged_without_verdict_total', 'Requests answered as flagged without a verdict', [
    'reason',
  ]);
  const unusable = counter('unusable_replies_total', 'Answers of the backend without a valid verdict', ['model']);
  const shadowTexts = counter('shadow_texts_total', 'Texts of the share of the shadow', ['outcome']);
  const shadowFound = counter('shadow_violations_total', 'Violations that the live judge, its shadow or both find', [
    'category',
    'found_by',
  ]);
  const tokens = counter('tokens_total', 'Tokens as the backend counts them', ['model', 'kind']);
  const largeTextTime = timer('large_text_duration_seconds', 'Time until a large text is decoded', ['place']);
  const setReadings = createReadingGauges(registers);
  const shared = { name: 'gatehouse_shared_state_up', help: '1 while replicas share their state', registers };
  const sharedStateUp = isSharedStateUp === undefined ? undefined : new Gauge(shared);
  let read: (() => GatewayReadings) | undefined;
  return {
    answered,
    attempt({ kind: outcome, model, durationMs }) {
      calls(`${outcome} ${model}`, 1, () => ({ outcome, model }));
      callTime(model, durationMs);
    },
    verdict({ alias, isFlagged, isCached }) {
      const [flagged, cached] = [String(isFlagged), String(isCached)];
      verdicts(`${flagged} ${cached} ${alias}`, 1, () => ({ alias, flagged, cached }));
    },
    flaggedWithoutVerdict: (reason) => unjudged(reason, 1, () => ({ reason })),
    unusable: (model) => unusable(model, 1, () => ({ model })),
    shadow: (outcome) => shadowTexts(outcome, 1, () => ({ outcome })),
    shadowFound: (category, found_by) => shadowFound(`${found_by} ${category}`, 1, () => ({ category, found_by })),
    tokens(model, { prompt, output, cached = 0 }) {
      tokens(`prompt ${model}`, prompt, () => ({ model, kind: 'prompt' }));
      tokens(`output ${model}`, output, () => ({ model, kind: 'output' }));
      tokens(`cache_read ${model}`, cached, () => ({ model, kind: 'cache_read' }));
    },
    largeText: ({ place, durationMs }) => largeTextTime(place, durationMs),
    watch(source) {
      read = source;
    },
    text() {
      if (read !== undefined) setReadings(read());
      sharedStateUp?.set(isSharedStateUp?.() ? 1 : 0);
      return registry.metrics();
    },
  };
};
