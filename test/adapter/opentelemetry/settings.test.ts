import * as assert from 'uvu/assert';
import { readTracingSettings } from '../../../src/adapter/opentelemetry/settings.ts';
import type { ConfigError, Variables } from '../../../src/core/config.ts';
import { describe } from '../../check.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' };
const problemsOf = (variables: Variables): readonly string[] => {
  try {
    readTracingSettings(variables);
  } catch (error) {
    return (error as ConfigError).problems;
  }
  return [];
};

describe('the variables of tracing', (check) => {
  for (const variables of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
    { OTEL_TRACES_SAMPLER: 'nonsense' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  ])
    check(`leave it off: ${JSON.stringify(variables)}`, () => assert.is(readTracingSettings(variables), undefined));

  check('an endpoint is a base for all signals, and that of traces is the whole address', () => {
    assert.is(readTracingSettings(ENDPOINT)?.url, 'http://collector.test:4318/v1/traces');
    const slash = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.test/otlp/' };
    assert.is(readTracingSettings(slash)?.url, 'https://collector.test/otlp/v1/traces');
    const own = { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces.test/in' };
    assert.is(readTracingSettings(own)?.url, 'http://traces.test/in');
    assert.is(
      readTracingSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces.test/in' })?.url,
      'http://traces.test/in',
    );
  });

  check('headers and resource are lists with percent escapes, and those of traces win', () => {
    const settings = readTracingSettings({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc, x-tenant = one',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=two',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,k8s.pod.name=a%2Cb,',
      OTEL_SERVICE_NAME: 'front',
    });
    assert.equal(settings?.headers, { authorization: 'Bearer abc', 'x-tenant': 'two' });
    assert.equal(settings?.resource, { 'deployment.environment.name': 'test', 'k8s.pod.name': 'a,b' });
    assert.is(settings?.serviceName, 'front');
  });

  for (const [sampler, arg, sampling] of [
    [undefined, undefined, { share: 1, asCaller: true }],
    ['always_on', '0.5', { share: 1, asCaller: false }],
    ['always_off', undefined, { share: 0, asCaller: false }],
    ['traceidratio', '0.01', { share: 0.01, asCaller: false }],
    ['traceidratio', undefined, { share: 1, asCaller: false }],
    ['parentbased_always_off', undefined, { share: 0, asCaller: true }],
    ['parentbased_traceidratio', '0.25', { share: 0.25, asCaller: true }],
  ] as const)
    check(`the sampler ${sampler} with ${arg}`, () => {
      const variables = { ...ENDPOINT, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg };
      assert.equal(readTracingSettings(variables)?.sampling, sampling);
    });

  check('what is wrong is told by name, all at once, and never by value', () => {
    const problems = problemsOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector-canary:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=%canary',
      OTEL_RESOURCE_ATTRIBUTES: 'canary',
      OTEL_TRACES_SAMPLER: 'canary',
      OTEL_TRACES_SAMPLER_ARG: '1.canary',
    });
    assert.equal(
      problems.map((problem) => problem.split(':')[0]),
      [
        'OTEL_EXPORTER_OTLP_ENDPOINT',
        'OTEL_EXPORTER_OTLP_HEADERS',
        'OTEL_RESOURCE_ATTRIBUTES',
        'OTEL_TRACES_SAMPLER',
        'OTEL_TRACES_SAMPLER_ARG',
      ],
    );
    assert.not.match(problems.join('\n'), 'canary');
    for (const headers of ['bad name=x', 'x=line%0Abreak', '=x'])
      assert.is(problemsOf({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers }).length, 1, headers);
  });

  check('a name that is a slip away is named, and what other programs may follow is not', () => {
    const others = {
      OTEL_METRICS_EXPORTER: 'x',
      OTEL_LOGS_EXPORTER: 'x',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'x',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'x',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'x',
      OTEL_PROPAGATORS: 'x',
      OTEL_BSP_SCHEDULE_DELAY: 'x',
    };
    assert.is(readTracingSettings({ ...ENDPOINT, ...others })?.ignored.size, 0);
    assert.equal(
      [...(readTracingSettings({ ...ENDPOINT, OTEL_TRACES_SAMPLR: 'always_on' })?.ignored ?? [])],
      [['OTEL_TRACES_SAMPLR', 'the nearest known one is OTEL_TRACES_SAMPLER']],
    );
    assert.is(readTracingSettings({ OTEL_TRACES_SAMPLR: 'always_on' }), undefined);
  });

  check('the port of gRPC is doubtful, and nothing else', () => {
    const doubtful = (variables: Variables) => [...(readTracingSettings(variables)?.doubtful.keys() ?? [])];
    assert.equal(doubtful({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317' }), ['OTEL_EXPORTER_OTLP_ENDPOINT']);
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4317/v1/traces' };
    assert.equal(doubtful({ ...ENDPOINT, ...own }), ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
    assert.equal(doubtful(ENDPOINT), []);
    assert.equal(doubtful({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1/4317' }), []);
  });

  check('a query is part of the whole address alone', () => {
    for (const address of ['http://collector.test:4318?key=canary', 'http://collector.test/#canary'])
      assert.equal(problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: address }), [
        'OTEL_EXPORTER_OTLP_ENDPOINT: expected an address such as http://collector.example:4318, without query or fragment; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT takes a whole address',
      ]);
    const whole = 'http://collector.test/v1/traces?key=a';
    assert.is(readTracingSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole })?.url, whole);
  });

  check('a protocol that is not spoken is named as having no effect', () => {
    const settings = readTracingSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    assert.equal([...(settings?.ignored.keys() ?? [])], ['OTEL_EXPORTER_OTLP_PROTOCOL']);
    assert.is(readTracingSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })?.ignored.size, 0);
  });
});
