import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { createCommandLookup } from '../../../src/main/agent/tool-commands.ts';
import { describe } from '../../check.ts';

describe('the programs of tool servers', (check) => {
  check('are this one and its Node, under their names', () => {
    const { replacements: words } = createCommandLookup({});
    assert.equal(words.get('node'), [process.execPath]);
    const [node, file = ''] = words.get('gatehouse') ?? [];
    assert.is(node, process.execPath);
    assert.match(file, /gatehouse\.[jt]s$/);
    assert.ok(existsSync(file));
  });

  check('trace as the server does where they are this one, and no other is given the key of the collector', () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary',
      OTEL_SERVICE_NAME: 'our-agent',
      AGENT_SERVER_PASSWORD: 'canary',
    };
    const { inherited } = createCommandLookup(variables);
    const { OTEL_SERVICE_NAME: _, AGENT_SERVER_PASSWORD: __, ...tracing } = variables;
    assert.equal(inherited('gatehouse', { RELAY_BASE_URL: 'http://relay.test' }), tracing);
    for (const program of ['node', 'npx', '/usr/bin/gatehouse', '']) assert.equal(inherited(program, {}), {}, program);
    // A collector of its own must not be sent the headers of the other.
    assert.equal(inherited('gatehouse', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other.test' }), {});
    // Where this one is not installed, another program of the PATH has the name.
    assert.equal(createCommandLookup(variables, ['/nowhere/gatehouse.js']).inherited('gatehouse', {}), {});
  });

  check('are looked for beside the configuration', () => {
    assert.is(createCommandLookup({}).directory, resolve('.'));
    assert.is(createCommandLookup({ AGENT_CONFIG: ' ' }).directory, resolve('.'));
    assert.is(createCommandLookup({ AGENT_CONFIG: 'conf/agent.json' }).directory, resolve('conf'));
    assert.is(createCommandLookup({ AGENT_CONFIG: '/etc/gatehouse/agent.json' }).directory, '/etc/gatehouse');
  });
});
