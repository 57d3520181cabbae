import * as assert from 'uvu/assert';
import { createSender } from '../../../src/adapter/opentelemetry/sender.ts';
import { ConfigError } from '../../../src/core/config.ts';
import { passOn } from '../../../src/core/http/tracing.ts';
import { openTracing } from '../../../src/main/program/tracing.ts';
import { startCollector } from '../../adapter/opentelemetry/collector.ts';
import { describe, rejection } from '../../check.ts';

const open = async (variables: Readonly<Record<string, string>>) => {
  const logged: string[] = [];
  const log = (_level: string, event: string, fields: object = {}) =>
    void logged.push(`${event} ${JSON.stringify(fields)}`);
  return {
    ...(await openTracing(variables, 'bridge', log, async () => createSender)),
    logged,
  };
};

describe('tracing of a program', (check) => {
  check(
    'passes on and records nothing without an endpoint, also with variables that compose files leave empty',
    async () => {
      const empty = { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_HEADERS: '', OTEL_TRACES_SAMPLER: '' };
      for (const variables of [{}, empty]) {
        const { beginSpan, close, logged } = await open(variables);
        assert.is(beginSpan, passOn);
        await close();
        assert.equal(logged, []);
      }
    },
  );

  check('records with one, as the service that it is, and says which setting it does not follow', async () => {
    const collector = await startCollector();
    try {
      const variables = {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_TRACES_SAMPLER: '',
      };
      const { beginSpan, close, logged } = await open(variables);
      beginSpan({ name: 'POST /', kind: 'server', parent: undefined, attributes: () => ({}) })?.end();
      await close();
      assert.is(collector.span('POST /').service, 'gatehouse-bridge');
      assert.equal(
        logged.map((line) => line.split(' ')[0]),
        ['setting-without-effect'],
      );
    } finally {
      await collector.close();
    }
  });

  check('warns of an endpoint whose name is misspelt, and then of no other name', async () => {
    for (const [setting, known] of [
      ['OTEL_EXPORTER_OTLP_ENDPOIN', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
      ['OTEL_EXPORTER_OTLP_TRACE_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
    ] as const) {
      const { logged } = await open({ [setting]: 'http://127.0.0.1:4318', OTEL_TRACES_SAMPLR: 'always_on' });
      const reason = `the nearest known one is ${known}`;
      assert.equal(logged, [`setting-without-effect ${JSON.stringify({ setting, reason })}`]);
    }
    const others = { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'x', OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'x' };
    assert.equal((await open(others)).logged, []);
  });

  check('warns of the port of gRPC', async () => {
    const { close, logged } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317' });
    await close();
    assert.match(logged.join(), /^doubtful-setting .*"OTEL_EXPORTER_OTLP_ENDPOINT".*4318/);
  });

  check('refuses a start with what is wrong', async () => {
    const error = await rejection(open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }));
    assert.instance(error, ConfigError);
  });
});
