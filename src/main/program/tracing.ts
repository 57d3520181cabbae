import type { CreateSender } from '../../adapter/opentelemetry/exporter.ts';
import { misspeltEndpoints, readTracingSettings } from '../../adapter/opentelemetry/settings.ts';
import type { Variables } from '../../core/config.ts';
import { type BeginSpan, passOn } from '../../core/http/tracing.ts';
import type { Log } from '../../core/log.ts';
import { VERSION } from './version.ts';

/** How a service traces: what begins its spans, and what sends the last ones at its end. */
type ServiceTracing = { readonly beginSpan: BeginSpan; readonly close: () => Promise<void> };

/**
 * Tracing as the variables say. Without an endpoint nothing is recorded or loaded, and callers' contexts are passed on; a misspelt
 * name of one is logged. Throws a `ConfigError`. `loadSender` loads what sends the spans of this service.
 */
export const openTracing = async (
  variables: Variables,
  service: string,
  log: Log,
  loadSender: () => Promise<CreateSender>,
): Promise<ServiceTracing> => {
  const settings = readTracingSettings(variables);
  const ignored = settings?.ignored ?? misspeltEndpoints(variables);
  for (const [setting, reason] of ignored) log('warn', 'setting-without-effect', { setting, reason });
  if (settings === undefined) return { beginSpan: passOn, close: async () => {} };
  for (const [setting, reason] of settings.doubtful) log('warn', 'doubtful-setting', { setting, reason });
  const [{ createTracing }, createSender] = await Promise.all([
    import('../../adapter/opentelemetry/tracing.ts'),
    loadSender(),
  ]);
  return createTracing(settings, { service, version: VERSION, log, createSender });
};
