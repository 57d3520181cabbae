import * as assert from 'uvu/assert';
import {
  type BridgeSettings,
  BridgeVariables,
  readBridgeSettings,
  unknownBridgeVariables,
} from '../../src/bridge/settings.ts';
import type { ConfigError } from '../../src/core/config.ts';
import { readIfPresent } from '../../src/main/program/read-file.ts';
import { describe } from '../check.ts';

type Variables = Readonly<Record<string, string | undefined>>;

const NO_FILE = (): undefined => undefined;
const read = (variables: Variables = {}, file?: unknown): BridgeSettings => {
  const path = file === undefined ? {} : { BRIDGE_CONFIG: 'bridge.json' };
  const text = typeof file === 'string' ? file : JSON.stringify(file);
  return readBridgeSettings({ ...path, ...variables }, (asked) => (asked === 'bridge.json' ? text : undefined));
};
const problemsOf = (...given: Parameters<typeof read>): readonly string[] => {
  try {
    read(...given);
  } catch (error) {
    return (error as ConfigError).problems;
  }
  return [];
};

describe('the settings of the bridge', (check) => {
  check('have a value for everything that is not set', () => {
    assert.equal(read(), {
      host: '127.0.0.1',
      isLocalWithoutKeys: true,
      port: 4100,
      logLevel: 'info',
      keys: [],
      agent: { baseUrls: ['http://127.0.0.1:4000'], credentials: undefined },
      agentName: undefined,
      defaultModel: undefined,
      chunkSize: 4,
      chunkDelayMs: 10,
      dropsLeadingEcho: false,
      asksInChat: true,
      onDisconnect: { kind: 'grace', ms: 10_000 },
      matching: 'prefix',
      showsTools: true,
      showsReasoning: true,
      heartbeat: 'comment',
      corsOrigins: [],
      bodyLimitBytes: 8_388_608,
      answersAtATime: 500,
    });
    const empty = Object.fromEntries(Object.keys(BridgeVariables.entries).map((name) => [name, ' ']));
    assert.equal(read(empty), read());
  });

  check('are what the variables say', () => {
    const settings = read({
      DEFAULT_MODEL: ' acme/large/v2 ',
      OPENAI_STREAM_CHUNK_SIZE: '0',
      OPENAI_STREAM_CHUNK_DELAY_MS: ' 25 ',
      ENABLE_LEADING_ECHO_FILTER: 'true',
      HOST: ' 0.0.0.0 ',
      PORT: '0',
      APP_ENV: 'production',
      LOG_LEVEL: 'debug',
      BRIDGE_API_KEYS: ' one, two,,one ',
      AGENT_BASE_URL: 'https://agent.example/base//',
      AGENT_SERVER_PASSWORD: ' p:w ',
      BRIDGE_AGENT: 'build',
      BRIDGE_APPROVALS: 'reject',
      BRIDGE_ON_DISCONNECT: '30000',
      BRIDGE_CONVERSATIONS: 'named',
      BRIDGE_SHOW_TOOLS: 'false',
      BRIDGE_SHOW_REASONING: 'false',
      BRIDGE_HEARTBEAT: 'off',
      BRIDGE_CORS_ORIGINS: 'https://a.example, app://obsidian.md,http://localhost:3000,null',
      MAX_BODY_BYTES: '1024',
      MAX_CONCURRENCY: '1',
    });
    assert.equal(settings, {
      host: '0.0.0.0',
      isLocalWithoutKeys: false,
      port: 0,
      logLevel: 'debug',
      keys: ['one', 'two'],
      agent: { baseUrls: ['https://agent.example/base'], credentials: { username: 'opencode', password: 'p:w' } },
      agentName: 'build',
      defaultModel: 'acme/large/v2',
      chunkSize: 0,
      chunkDelayMs: 25,
      dropsLeadingEcho: true,
      asksInChat: false,
      onDisconnect: { kind: 'grace', ms: 30_000 },
      matching: 'named',
      showsTools: false,
      showsReasoning: false,
      heartbeat: 'off',
      corsOrigins: ['https://a.example', 'app://obsidian.md', 'http://localhost:3000', 'null'],
      bodyLimitBytes: 1024,
      answersAtATime: 1,
    });
    assert.equal(read({ BRIDGE_ON_DISCONNECT: 'detach' }).onDisconnect, { kind: 'detach' });
    assert.equal(read({ BRIDGE_CORS_ORIGINS: '*' }).corsOrigins, ['*']);
    const addresses = 'http://agent-1:4000, https://agent-2/base/,,http://agent-1:4000/';
    assert.equal(read({ AGENT_BASE_URL: addresses }).agent.baseUrls, ['http://agent-1:4000', 'https://agent-2/base']);
    const credentials = { AGENT_SERVER_USERNAME: 'me', AGENT_SERVER_PASSWORD: 'x' };
    assert.equal(read(credentials).agent.credentials, { username: 'me', password: 'x' });
  });

  check('are refused where a variable is wrong, by its name and without its value', () => {
    const wrong: Readonly<Record<string, readonly string[]>> = {
      DEFAULT_MODEL: ['large', '/large', 'acme/', 'acme /x', 'acme/x y'],
      OPENAI_STREAM_CHUNK_SIZE: ['-1', '4.5', 'four', '100001', '1e3', '0x4'],
      OPENAI_STREAM_CHUNK_DELAY_MS: ['-1', '10001', '1 0'],
      ENABLE_LEADING_ECHO_FILTER: ['TRUE', 'yes', '1'],
      PORT: ['-1', '65536', 'http'],
      LOG_LEVEL: ['trace'],
      BRIDGE_API_KEYS: ['with blank', 'ümlaut', `ok,${'x'.repeat(513)}`, 'a\tb'],
      BRIDGE_ALLOW_ANONYMOUS: ['yes'],
      AGENT_BASE_URL: [
        'agent:4000',
        'ftp://agent',
        'http://',
        'http://user@agent',
        'http://u:p@agent',
        'http://agent?x=1',
        'http://agent/?',
        'http://agent/#top',
        ' , ,',
        'http://agent-1, agent-2:4000',
      ],
      AGENT_SERVER_USERNAME: ['a:b', 'a\u0000b', 'x'.repeat(257)],
      // As at the agent server, which takes no longer ones.
      AGENT_SERVER_PASSWORD: ['a\nb', 'x'.repeat(257)],
      BRIDGE_AGENT: ['x'.repeat(201)],
      BRIDGE_APPROVALS: ['allow'],
      BRIDGE_ON_DISCONNECT: ['-1', '1.5', 'ABORT', '12345678', '10s'],
      BRIDGE_CONVERSATIONS: ['user'],
      BRIDGE_SHOW_TOOLS: ['on'],
      BRIDGE_SHOW_REASONING: ['1'],
      BRIDGE_HEARTBEAT: ['event'],
      BRIDGE_CORS_ORIGINS: [
        'my.example',
        'https://my.example/',
        'https://my.example/path',
        'HTTPS://my.example',
        'https://my.example:443',
        'https:///',
        'app://x y',
        '*, https://a.example/b',
      ],
      MAX_BODY_BYTES: ['1023', '104857601'],
      MAX_CONCURRENCY: ['0', '10001'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const problems = problemsOf({ [name]: value });
        assert.is(problems.length, 1, `${name}=${value}`);
        assert.match(problems[0] ?? '', new RegExp(`^${name}: expected `));
        if (value.length > 8) assert.not.match(problems.join(), value);
      }
    }
    const checked = Object.keys(BridgeVariables.entries).filter((name) => !(name in wrong));
    assert.equal(checked, ['HOST', 'BRIDGE_CONFIG']);
  });

  check('are refused with every problem at once', () => {
    const problems = problemsOf(
      { PORT: 'x', HOST: '0.0.0.0', LOG_LEVEL: 'loud', OPENAI_STREAM_CHUNK_DELAY_MS: '-1' },
      { openaiStreamChunkSise: 3, defaultModel: 5, openaiStreamChunkSize: -4 },
    );
    assert.equal(problems.map((problem) => problem.split(': ').slice(0, 2).join(': ')).sort(), [
      'BRIDGE_API_KEYS: expected at least one key when HOST is not this machine alone; BRIDGE_ALLOW_ANONYMOUS=true allows access without a key',
      'BRIDGE_CONFIG: defaultModel',
      'BRIDGE_CONFIG: openaiStreamChunkSise',
      'LOG_LEVEL: expected debug | info | warn | error',
      'OPENAI_STREAM_CHUNK_DELAY_MS: expected a whole number from 0 to 10000',
      'OPENAI_STREAM_CHUNK_SIZE: expected a whole number from 0 to 100000',
      'PORT: expected a whole number from 0 to 65535',
    ]);
  });
});

describe('the host of the bridge', (check) => {
  check('is everywhere with keys, and this machine without', () => {
    assert.equal(
      [read({ BRIDGE_API_KEYS: 'k' }).host, read({ BRIDGE_API_KEYS: 'k' }).isLocalWithoutKeys],
      ['0.0.0.0', false],
    );
    assert.equal([read({ BRIDGE_API_KEYS: ' , ' }).host, read().isLocalWithoutKeys], ['127.0.0.1', true]);
    assert.is(read({ HOST: '127.0.0.1' }).isLocalWithoutKeys, false);
  });

  check('is not public without keys, unless that was asked for', () => {
    for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'bridge.example']) {
      assert.match(problemsOf({ HOST })[0] ?? '', /^BRIDGE_API_KEYS: expected at least one key/);
      assert.is(problemsOf({ HOST, BRIDGE_ALLOW_ANONYMOUS: 'false' }).length, 1);
      assert.equal(problemsOf({ HOST, BRIDGE_ALLOW_ANONYMOUS: 'true' }), []);
      assert.equal(problemsOf({ HOST, BRIDGE_API_KEYS: 'k' }), []);
    }
    for (const HOST of ['127.0.0.1', 'localhost', '::1', '127.1.2.3']) assert.equal(problemsOf({ HOST }), []);
  });

  check('is looked at together with everything else that is wrong', () => {
    assert.is(problemsOf({ HOST: '0.0.0.0', PORT: 'x' }).length, 2);
    assert.is(problemsOf({ HOST: '0.0.0.0', BRIDGE_API_KEYS: 'a b' }).length, 1);
  });
});

describe('the file of the bridge', (check) => {
  const FILE = {
    defaultModel: 'acme/large',
    openaiStreamChunkSize: 8,
    openaiStreamChunkDelayMs: 0,
    enableLeadingEchoFilter: true,
  };
  const shown = ({ defaultModel, chunkSize, chunkDelayMs, dropsLeadingEcho }: BridgeSettings) =>
    [defaultModel, chunkSize, chunkDelayMs, dropsLeadingEcho].join(' ');

  check("holds the specification's four settings by its names", () => {
    assert.is(shown(read({}, FILE)), 'acme/large 8 0 true');
    assert.is(shown(read({}, {})), ' 4 10 false');
    assert.is(shown(read({ BRIDGE_CONFIG: ' bridge.json ' }, { enableLeadingEchoFilter: false })), ' 4 10 false');
  });

  check('gives way to variables, but not to empty ones', () => {
    const variables = { DEFAULT_MODEL: 'acme/small', OPENAI_STREAM_CHUNK_SIZE: '0', ENABLE_LEADING_ECHO_FILTER: '' };
    assert.is(shown(read(variables, FILE)), 'acme/small 0 0 true');
  });

  check('is refused where a name is not known, with the nearest that is', () => {
    assert.equal(problemsOf({}, { openaiStreamChunkSise: 4, default_model: 'a/b', ['a\nb'.repeat(100)]: 1 }), [
      'BRIDGE_CONFIG: openaiStreamChunkSise: an unknown name; the nearest known one is openaiStreamChunkSize',
      'BRIDGE_CONFIG: default_model: an unknown name; the nearest known one is defaultModel',
      `BRIDGE_CONFIG: ${'a?b'.repeat(20)}: an unknown name; the nearest known one is openaiStreamChunkDelayMs`,
    ]);
    for (const name of ['__proto__', 'toString', 'constructor', 'BRIDGE_API_KEYS'])
      assert.match(problemsOf({}, `{"${name}": 1}`).join(), `BRIDGE_CONFIG: ${name}: an unknown name`);
  });

  check('is refused where a value is of another kind', () => {
    for (const [name, values] of Object.entries({
      defaultModel: [5, null, true, {}, []],
      openaiStreamChunkSize: ['4', null, true, [4]],
      openaiStreamChunkDelayMs: ['10', {}],
      enableLeadingEchoFilter: ['true', 1, null],
    })) {
      for (const value of values) {
        const [problem = ''] = problemsOf({}, { [name]: value });
        assert.match(problem, new RegExp(`^BRIDGE_CONFIG: ${name}: expected a (?:string|number|boolean)$`));
      }
    }
    assert.equal(problemsOf({}, { openaiStreamChunkSize: 4.5 }), [
      'OPENAI_STREAM_CHUNK_SIZE: expected a whole number from 0 to 100000',
    ]);
  });

  check('is refused where it is none, or cannot be read', () => {
    for (const text of ['', '{', 'null', '[]', '"x"', '{"defaultModel":"a/b"} x'])
      assert.equal(problemsOf({}, text), ['BRIDGE_CONFIG: expected a file that holds a JSON object'], text);
    const missing = () => readBridgeSettings({ BRIDGE_CONFIG: '/nowhere' }, NO_FILE);
    assert.throws(missing, /^BRIDGE_CONFIG: expected the path of a file that can be read$/);
    const away = () => readBridgeSettings({ BRIDGE_CONFIG: '/nowhere' }, readIfPresent);
    const why = 'BRIDGE_CONFIG: expected the path of a file that can be read: no such file or directory (ENOENT)';
    assert.throws(away, (error: ConfigError) => error.message === why);
  });
});

describe('variables that look like ours', (check) => {
  check('are distinguished from those that are, and from those of Kubernetes', () => {
    const variables = {
      BRIDGE_API_KEY: 'x',
      OPENCODE_BASE: 'x',
      OPENAI_STREAM_CHUNK: '4',
      BRIDGE_API_KEYS: 'x',
      BRIDGE_SERVICE_HOST: '10.0.0.1',
      BRIDGE_SERVICE_PORT: '4100',
      BRIDGE_SERVICE_PORT_HTTP: '4100',
      BRIDGE_PORT: 'tcp://10.0.0.1:4100',
      BRIDGE_PORT_4100_TCP_ADDR: '10.0.0.1',
      PATH: '/bin',
      MY_BRIDGE_X: '1',
    };
    assert.equal(
      [...unknownBridgeVariables(variables)],
      [
        ['BRIDGE_API_KEY', 'BRIDGE_API_KEYS'],
        ['OPENCODE_BASE', 'AGENT_BASE_URL'],
        ['OPENAI_STREAM_CHUNK', 'OPENAI_STREAM_CHUNK_SIZE'],
      ],
    );
  });
});
