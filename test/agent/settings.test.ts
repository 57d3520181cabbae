import * as assert from 'uvu/assert';
import {
  type AgentServerSettings,
  AgentVariables,
  readAgentSettings,
  unknownAgentVariables,
} from '../../src/agent/settings.ts';
import { ConfigError, type Variables } from '../../src/core/config.ts';
import { hasBasicCredentials } from '../../src/core/http/auth.ts';
import { describe } from '../check.ts';

const DEFAULTS: AgentServerSettings = {
  host: '127.0.0.1',
  isLocalWithoutPassword: true,
  port: 4000,
  logLevel: 'info',
  credentials: undefined,
  database: { kind: 'sqlite', path: './data/agent.db' },
  bodyLimitBytes: 9_437_184,
  leaseMs: 5000,
  retention: {},
};
const problemsOf = (variables: Variables): readonly string[] => {
  try {
    readAgentSettings(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error('The settings were accepted');
};

describe('the settings of the agent server', (check) => {
  check('need nothing, and listen on this machine alone then', () => {
    assert.equal(readAgentSettings({}), DEFAULTS);
    assert.equal(readAgentSettings({ HOST: ' ', AGENT_SERVER_PASSWORD: '', AGENT_SERVER_USERNAME: '' }), DEFAULTS);
  });

  check('take everything that can be set, with blanks around it', () => {
    assert.equal(
      readAgentSettings({
        HOST: ' 10.0.0.1 ',
        PORT: ' 0 ',
        APP_ENV: ' production ',
        LOG_LEVEL: ' warn ',
        AGENT_SERVER_USERNAME: ' me ',
        AGENT_SERVER_PASSWORD: ' pass word\n',
        AGENT_DATABASE_URL: ' sqlite:/data/a.db ',
        AGENT_MAX_BODY_BYTES: ' 1024 ',
        AGENT_RETENTION_DAYS: ' 30 ',
      }),
      {
        host: '10.0.0.1',
        isLocalWithoutPassword: false,
        port: 0,
        logLevel: 'warn',
        credentials: { username: 'me', password: 'pass word' },
        database: { kind: 'sqlite', path: '/data/a.db' },
        bodyLimitBytes: 1024,
        leaseMs: 5000,
        retention: { ageMs: 30 * 86_400_000 },
      },
    );
  });

  check('keep sessions for ever unless a time is set', () => {
    const retentionOf = (variables: Variables) => readAgentSettings(variables).retention;
    assert.equal(retentionOf({ AGENT_RETENTION_DAYS: '0' }), {});
    assert.equal(retentionOf({ AGENT_RETENTION_DAYS: '1' }), { ageMs: 86_400_000 });
    for (const value of ['-1', '1.5', '30d', '36501']) {
      assert.equal(problemsOf({ AGENT_RETENTION_DAYS: value }), [
        'AGENT_RETENTION_DAYS: expected a whole number from 0 to 36500',
      ]);
    }
  });

  check('open every address once there is a password, for the user that clients send by themselves', () => {
    const { host, credentials, isLocalWithoutPassword } = readAgentSettings({ AGENT_SERVER_PASSWORD: 'p' });
    assert.equal([host, isLocalWithoutPassword], ['0.0.0.0', false]);
    assert.equal(credentials, { username: 'opencode', password: 'p' });
  });

  const PUBLIC = [
    '0.0.0.0',
    '::',
    '10.1.2.3',
    'agent.example',
    '[::]',
    '128.0.0.1',
    '127.0.0.1.example',
    'localhost.example',
  ];
  for (const HOST of PUBLIC) {
    check(`refuse ${HOST} without a password, unless everyone is welcome`, () => {
      const [problem, ...more] = problemsOf({ HOST });
      assert.match(problem ?? '', /^AGENT_SERVER_PASSWORD: expected a value when HOST .* AGENT_ALLOW_ANONYMOUS=true/);
      assert.equal(more, []);
      assert.is(readAgentSettings({ HOST, AGENT_ALLOW_ANONYMOUS: 'true' }).host, HOST);
      assert.is(readAgentSettings({ HOST, AGENT_SERVER_PASSWORD: 'p' }).host, HOST);
      assert.is(problemsOf({ HOST, AGENT_ALLOW_ANONYMOUS: 'false' }).length, 1);
    });
  }

  for (const HOST of ['127.0.0.1', '127.1.2.3', 'localhost', 'LOCALHOST', '::1', '[::1]']) {
    check(`take ${HOST} without a password, and do not call it a makeshift`, () => {
      assert.equal(readAgentSettings({ HOST }), { ...DEFAULTS, host: HOST, isLocalWithoutPassword: false });
    });
  }

  check('stay on this machine when everyone is welcome and no one named a host', () => {
    assert.equal(readAgentSettings({ AGENT_ALLOW_ANONYMOUS: 'true' }), DEFAULTS);
  });

  check('report every problem at once, a public address without a password among them', () => {
    const problems = problemsOf({ HOST: '0.0.0.0', PORT: '70000', LOG_LEVEL: 'loud', AGENT_DATABASE_URL: 'mysql://x' });
    assert.equal(
      problems.map((problem) => problem.split(':')[0]),
      ['PORT', 'LOG_LEVEL', 'AGENT_DATABASE_URL', 'AGENT_SERVER_PASSWORD'],
    );
  });

  check('hold credentials that a client can send', () => {
    for (const wrong of [
      { AGENT_SERVER_USERNAME: 'a:b' },
      { AGENT_SERVER_USERNAME: 'a\nb' },
      { AGENT_SERVER_PASSWORD: 'a\0b' },
    ])
      assert.is(problemsOf(wrong).length, 1);
    assert.match(problemsOf({ AGENT_SERVER_PASSWORD: 'é'.repeat(129) })[0] ?? '', /at most 256 bytes/);
    const largest = { AGENT_SERVER_USERNAME: 'é'.repeat(128), AGENT_SERVER_PASSWORD: 'ü'.repeat(128) };
    const { credentials = { username: '', password: '' } } = readAgentSettings(largest);
    const sent = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
    const request = new Request('http://agent.test/', { headers: { authorization: `Basic ${sent}` } });
    assert.ok(hasBasicCredentials(request, credentials));
  });

  const PATHS: Readonly<Record<string, string>> = {
    'sqlite:./data/agent.db': './data/agent.db',
    'sqlite:agent.db': 'agent.db',
    'sqlite:/data/agent.db': '/data/agent.db',
    'sqlite:///data/agent.db': '/data/agent.db',
  };
  for (const [url, path] of Object.entries(PATHS)) {
    check(`find the store of ${url} at ${path}`, () =>
      assert.equal(readAgentSettings({ AGENT_DATABASE_URL: url }).database, { kind: 'sqlite', path }),
    );
  }
  for (const url of [
    'postgres://u:hunter2@db/agent',
    'postgresql://u:hunter2@db:5432/agent?sslmode=require',
    'postgres://u:hunter2@one:5432,two:5432/agent',
  ]) {
    check(`find the store of ${url.replace('hunter2', '...')} in a database`, () =>
      assert.equal(readAgentSettings({ AGENT_DATABASE_URL: url }).database, { kind: 'postgres', url }),
    );
  }
  for (const url of [
    'sqlite:',
    'sqlite://',
    'sqlite://agent.db',
    './agent.db',
    'mysql://x',
    'file:x.db',
    'postgres:agent',
    'postgres://hunter2',
  ]) {
    check(`refuse ${url.replace('hunter2', '...')}`, () =>
      assert.equal(problemsOf({ AGENT_DATABASE_URL: url }), [
        'AGENT_DATABASE_URL: expected sqlite:<path>, such as sqlite:./data/agent.db, or postgres://user:password@host:port/database',
      ]),
    );
  }

  check('never quote a value', () => {
    const names = Object.keys(AgentVariables.entries);
    const problems = problemsOf(Object.fromEntries(names.map((name) => [name, `canary:\u0007${'x'.repeat(300)}`])));
    assert.ok(problems.length >= 7, problems.join('\n'));
    assert.not.match(problems.join('\n'), /canary/);
  });
});

describe('a variable that looks like one of the agent server', (check) => {
  check('is reported with the nearest name, and so is one of the peer', () => {
    assert.equal(
      [
        ...unknownAgentVariables({
          AGENT_CONFG: 'x',
          AGENT_SERVER_PASSWD: 'x',
          OPENCODE_SERVER_PASSWORD: 'x',
          PATH: '/bin',
        }),
      ],
      [
        ['AGENT_CONFG', 'AGENT_CONFIG'],
        ['AGENT_SERVER_PASSWD', 'AGENT_SERVER_PASSWORD'],
        ['OPENCODE_SERVER_PASSWORD', 'AGENT_SERVER_PASSWORD'],
      ],
    );
  });

  check('is left alone when it is ours or comes from Kubernetes', () => {
    const ours = Object.fromEntries(Object.keys(AgentVariables.entries).map((name) => [name, 'x']));
    const theirs = {
      AGENT_SERVICE_HOST: '10.0.0.1',
      AGENT_SERVICE_PORT_HTTP: '4000',
      AGENT_PORT: 'tcp://10.0.0.1:4000',
      AGENT_PORT_4000_TCP_ADDR: '10.0.0.1',
    };
    assert.is(unknownAgentVariables({ ...ours, ...theirs }).size, 0);
  });
});
