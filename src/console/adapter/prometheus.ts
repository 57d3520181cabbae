import { createServiceMetrics } from '../../adapter/prometheus.ts';
import type { ConsoleMetrics, ConsoleReadings } from '../metrics.ts';

/** The console's metrics in Prometheus' text format, with those of the process. */
export const createPrometheusConsoleMetrics = (version: string): ConsoleMetrics => {
  const { registry, counter, gauge, answered } = createServiceMetrics(version);
  const decisions = counter('decisions_total', 'Decisions about permission requests', ['reply']);
  const logins = counter('logins_total', 'Attempts to log in by their outcome', ['outcome']);
  const notifications = counter('notifications_total', 'Announced permission requests by their outcome', ['outcome']);
  const open = gauge('open_approvals', 'Permission requests that wait for a person');
  const followers = gauge('event_followers', 'Browsers that follow the events');
  const services = gauge('services', 'Services that the settings name');
  const up = gauge('services_up', 'Services of these that answer, are ready and take the key of the console');
  const inDoubt = gauge('recharges_in_doubt', 'Recharges of which it is not known whether they were credited');
  let read: (() => ConsoleReadings) | undefined;
  return {
    recordRequest: answered,
    recordDecision: (reply) => decisions(reply, 1, () => ({ reply })),
    recordLogin: (outcome) => logins(outcome, 1, () => ({ outcome })),
    recordNotification: (outcome) => notifications(outcome, 1, () => ({ outcome })),
    recordRechargesInDoubt: (count) => (count === undefined ? inDoubt.remove() : inDoubt.set(count)),
    watch(source) {
      read = source;
    },
    text() {
      const now = read?.();
      open.set(now?.openApprovals ?? 0);
      followers.set(now?.followers ?? 0);
      services.set(now?.services ?? 0);
      up.set(now?.servicesUp ?? 0);
      return registry.metrics();
    },
  };
};
