import * as assert from 'uvu/assert';
import { readTracingSettings } from '../../../../src/adapter/opentelemetry/settings.ts';
import { describe } from '../../../check.ts';
import { CASES, CONSOLE } from '../cases.ts';
import { filled, MISSING, manifests, only, refusal, type Values, variablesOf } from '../world.ts';

const TRACED: Values = { ...CASES.traced, console: CONSOLE };
const settingsOf = (tracing: Values) => {
  const all = manifests({ ...TRACED, tracing: { endpoint: 'https://collector.corp.test', ...tracing } });
  return readTracingSettings(filled(only(all, 'Deployment', 'gateway')));
};

describe('tracing in the chart', (check) => {
  check.needing(MISSING, 'is for gateway, agent and bridge what the services read, and nothing for a console', () => {
    const all = manifests(TRACED);
    for (const service of ['gateway', 'agent', 'bridge']) {
      const variables = filled(only(all, 'Deployment', service));
      const { url, resource, sampling, headers } =
        readTracingSettings({ ...variables, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=a%20key' }) ?? {};
      assert.is(url, 'http://collector.observability.svc:4318/v1/traces');
      assert.equal(resource, { 'deployment.environment.name': 'production', team: 'trust & safety' });
      assert.equal([sampling, headers], [{ share: 0.01, asCaller: true }, { authorization: 'a key' }]);
      const { OTEL_EXPORTER_OTLP_HEADERS } = variablesOf(only(all, 'Deployment', service));
      assert.is(OTEL_EXPORTER_OTLP_HEADERS, 'collector/OTEL_EXPORTER_OTLP_HEADERS');
    }
    assert.not.match(JSON.stringify(only(all, 'Deployment', 'console')), 'OTEL_');
  });

  check.needing(MISSING, 'is nothing but the endpoint unless more is asked for, and nothing at all without', () => {
    const names = (tracing: Values) =>
      Object.keys(variablesOf(only(manifests({ ...TRACED, tracing }), 'Deployment', 'bridge'))).filter((name) =>
        name.startsWith('OTEL_'),
      );
    assert.equal(names({ endpoint: 'http://collector' }), ['OTEL_EXPORTER_OTLP_ENDPOINT']);
    assert.equal(names({ sampler: 'always_on', resourceAttributes: { a: 'b' } }), []);
  });

  check.needing(MISSING, 'takes a share as a number or as --set gives it, and none as a share, too', () => {
    const sampler = 'traceidratio';
    for (const [samplerArg, share] of [
      [0.5, 0.5],
      ['0.5', 0.5],
      [0, 0],
      ['', 1],
      [1, 1],
    ] as const)
      assert.equal(settingsOf({ sampler, samplerArg })?.sampling, { share, asCaller: false });
  });

  check.needing(MISSING, 'is refused with a share that no sampler takes, and where a value is none', () => {
    const refused = (tracing: Values) => refusal({ ...TRACED, tracing });
    const text = 'tracing.samplerArg: expected nothing, or tracing.sampler to be traceidratio';
    assert.match(refused({ samplerArg: 0.5 }), text);
    assert.match(refused({ samplerArg: 0.5, sampler: 'always_on' }), text);
    assert.match(refused({ endpoint: 'collector:4318' }), "at '/tracing/endpoint': 'collector:4318' does not match");
    const whole = 'https://collector.corp.test/v1/traces';
    assert.match(
      refused({ endpoint: whole }),
      'tracing.endpoint: expected the address of a collector without /v1/traces',
    );
    assert.match(refused({ samplerArg: 1.5, sampler: 'traceidratio' }), "at '/tracing/samplerArg'");
    assert.match(refused({ sampler: 'ratio' }), "at '/tracing/sampler': value must be one of");
    assert.match(refused({ resourceAttributes: { 'a b': 'c' } }), "invalid propertyName 'a b'");
    const extraEnv = [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://other' }];
    assert.match(refusal({ ...TRACED, gateway: { extraEnv } }), 'gateway: expected OTEL_EXPORTER_OTLP_ENDPOINT once');
  });
});
