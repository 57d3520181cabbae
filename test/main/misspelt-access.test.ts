import * as assert from 'uvu/assert';
import { TracingVariables } from '../../src/adapter/opentelemetry/settings.ts';
import { AgentVariables, readAgentSettings } from '../../src/agent/settings.ts';
import { BridgeVariables, readBridgeSettings } from '../../src/bridge/settings.ts';
import { ConsoleVariables, readConsoleSettings } from '../../src/console/settings.ts';
import { ConfigError, type Variables } from '../../src/core/config.ts';
import { readGatewayConfig } from '../../src/gateway/settings/config.ts';
import { GatewayVariables } from '../../src/gateway/settings/variables.ts';
import { RelayVariables } from '../../src/relay-admin/settings.ts';
import { describe } from '../check.ts';

const SERVICES = {
  agent: readAgentSettings,
  bridge: (variables: Variables) => readBridgeSettings(variables, () => undefined),
  console: readConsoleSettings,
} as const;
type ServiceName = keyof typeof SERVICES;

const problemsOf = (start: (variables: Variables) => unknown, variables: Variables): readonly string[] => {
  try {
    start(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};
const refusal = (name: string, meant: string): string =>
  `${name}: this variable has no effect, and without ${meant} everyone would have access: rename it to ${meant}, or remove it`;

describe('a start without access control', (check) => {
  const misspelt: readonly (readonly [ServiceName, string, string])[] = [
    ['agent', 'AGENT_SERVER_PASWORD', 'AGENT_SERVER_PASSWORD'],
    ['agent', 'AGENT_PASSWORD', 'AGENT_SERVER_PASSWORD'],
    ['agent', 'OPENCODE_SERVER_PASSWORD', 'AGENT_SERVER_PASSWORD'],
    ['bridge', 'BRIDGE_API_KEY', 'BRIDGE_API_KEYS'],
    ['bridge', 'BRIGDE_API_KEYS', 'BRIDGE_API_KEYS'],
    ['bridge', 'BRIDGE_KEY', 'BRIDGE_API_KEYS'],
    ['console', 'CONSOLE_USER', 'CONSOLE_USERS'],
    ['console', 'CONSOLE_TRUSTED_HEADER', 'CONSOLE_TRUST_HEADER'],
  ];
  for (const [service, name, meant] of misspelt) {
    check(`is refused to the ${service} where ${name} is set, which is none of its variables`, () => {
      assert.equal(problemsOf(SERVICES[service], { HOST: '127.0.0.1', [name]: 'canary' }), [refusal(name, meant)]);
      assert.equal(problemsOf(SERVICES[service], { [name]: 'canary' }), [refusal(name, meant)]);
      assert.equal(problemsOf(SERVICES[service], { [name]: ' ' }), []);
    });
  }

  check('is refused also where anonymous access is allowed by name: the two contradict each other', () => {
    const open = { HOST: '0.0.0.0', BRIDGE_ALLOW_ANONYMOUS: 'true' };
    assert.equal(problemsOf(SERVICES.bridge, open), []);
    assert.equal(problemsOf(SERVICES.bridge, { ...open, BRIDGE_API_KEY: 'x' }), [
      refusal('BRIDGE_API_KEY', 'BRIDGE_API_KEYS'),
    ]);
  });

  check('is meant: with access control a misspelt name stays a warning', () => {
    assert.equal(problemsOf(SERVICES.bridge, { BRIDGE_API_KEYS: 'k', BRIDGE_API_KEY: 'x' }), []);
    assert.equal(problemsOf(SERVICES.agent, { AGENT_SERVER_PASSWORD: 'k', AGENT_SERVER_PASWORD: 'x' }), []);
    const trusting = { CONSOLE_TRUST_HEADER: 'x-user', CONSOLE_USERS: 'ann:admin', CONSOLE_USER: 'x' };
    assert.equal(problemsOf(SERVICES.console, trusting), []);
    // The gateway makes a key for the run.
    assert.equal(problemsOf(readGatewayConfig, { MODERATION_APIKEYS: 'x' }), []);
  });

  check('is not refused for other slips, other programs of this package, or what Kubernetes sets', () => {
    const schemas = [AgentVariables, BridgeVariables, ConsoleVariables, GatewayVariables, RelayVariables];
    const names = [...schemas, TracingVariables].flatMap((schema) => Object.keys(schema.entries));
    const others: Readonly<Record<ServiceName, readonly string[]>> = {
      agent: Object.keys(AgentVariables.entries),
      bridge: Object.keys(BridgeVariables.entries),
      console: Object.keys(ConsoleVariables.entries),
    };
    for (const [service, start] of Object.entries(SERVICES)) {
      const own = others[service as ServiceName];
      const foreign = Object.fromEntries(names.filter((name) => !own.includes(name)).map((name) => [name, 'x']));
      const kubernetes = Object.fromEntries(
        ['AGENT', 'BRIDGE', 'CONSOLE', 'BRIDGE_API_KEYS', 'AGENT_SERVER_PASSWORD', 'CONSOLE_USERS'].flatMap((name) => [
          [`${name}_PORT`, 'tcp://10.0.0.1:4100'],
          [`${name}_SERVICE_HOST`, '10.0.0.1'],
          [`${name}_PORT_4100_TCP_ADDR`, '10.0.0.1'],
        ]),
      );
      const slips = { AGENT_DATA_DIR: 'x', BRIDGE_ON_DISCONECT: 'x', CONSOLE_SECRETS: 'x', AGENT_SERVER_USERNME: 'x' };
      assert.equal(problemsOf(start, { ...foreign, ...kubernetes, ...slips }), [], service);
    }
  });
});
