import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe, sampled } from '../../check.ts';
import type { Running } from '../processes.ts';
import { addressOf, agentAt, untilReady } from './process.ts';
import { inAgentWorld, newSession, prompt, type Settings, withAgentWorld } from './world.ts';

describe('starting the agent bundle', (check) => {
  check.thorough(
    'does not wait for a tool server that never says a word',
    inAgentWorld(async ({ start, model }) => {
      model.alwaysReply('Good day.');
      const mute = { type: 'local', command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'], timeout: 60_000 };
      const agent = await start({ config: { mcp: { mute } } });
      const { id } = await newSession(agent);
      const startedAt = performance.now();
      const { info } = await prompt(agent, id, 'hello');
      assert.is(info.finish, 'stop');
      assert.ok(performance.now() - startedAt < 9000);
      const { json } = await agent.ask('GET', '/mcp');
      assert.match(JSON.stringify(json), '"status":"failed"');
      await agent.signal('SIGTERM');
    }),
  );

  check('without HOST and password listens on this machine alone, and says so', () =>
    withAgentWorld(async ({ begin }) => {
      const running = begin({ variables: { HOST: undefined, AGENT_SERVER_PASSWORD: undefined } });
      const address = await addressOf(running);
      assert.match(address, /^http:\/\/127\.0\.0\.1:\d+$/);
      await running.outputMatching(/"event":"this-machine-only","reason":"[^"]*AGENT_SERVER_PASSWORD/);
      await untilReady(running, address);
      const open = await fetch(`${address}/session`);
      assert.equal([open.status, await open.json()], [200, []]);
      const foreign = await fetch(`${address}/session`, { headers: { origin: 'https://page.example' } });
      assert.is(foreign.status, 400, 'a web page that a browser of this machine shows');
    }),
  );

  check('without HOST but with a password listens everywhere', () =>
    withAgentWorld(async ({ begin }) => {
      const running = begin({ variables: { HOST: undefined } });
      const address = await addressOf(running);
      assert.match(address, /^http:\/\/0\.0\.0\.0:\d+$/);
      const local = address.replace('0.0.0.0', '127.0.0.1');
      await untilReady(running, local);
      assert.is((await fetch(`${local}/session`)).status, 401);
      assert.is((await agentAt(running, local).ask('GET', '/session')).status, 200);
      assert.not.match(running.stderr(), 'this-machine-only');
    }),
  );
});

/** How a start that is to fail ended, and what it wrote. */
const refusedStart = async (running: Running) => {
  const timer = setTimeout(() => running.signal('SIGKILL'), 20_000);
  const { code } = await running.ended;
  clearTimeout(timer);
  return { code, stdout: running.stdout(), lines: running.stderr().trimEnd().split('\n') };
};

const BAD_CONFIG = {
  model: 'demo/canary-none',
  modle: 'canary-x',
  steps: 'canary-many',
  permission_timeout: -5,
  provider: {
    demo: {
      npm: '@ai-sdk/canary',
      options: { baseURL: 'ftp://user:canary-pw@x', apiKey: '{env:NO_SUCH_VARIABLE}' },
      models: { main: { limit: { context: 'canary' } } },
    },
  },
  agent: { build: { model: 'demo/canary-none', mode: 'canary-mode' } },
  mcp: {
    x: { type: 'local', command: 'canary-command' },
    y: { type: 'canary' },
    z: { type: 'remote', url: 'http://user:canary@h/' },
  },
  permission: { a: 'canary-allow' },
  default_agent: 'canary-agent',
};
const BAD_PATHS = [
  'provider.demo.options.apiKey',
  'provider.demo.npm',
  'provider.demo.options.baseURL',
  'provider.demo.models.main.limit.context',
  'agent.build.mode',
  'agent.build.model',
  'mcp.x.command',
  'mcp.y.type',
  'mcp.z.url',
  'permission.a',
  'permission_timeout',
  'steps',
  'model',
  'default_agent',
];

describe('a start of the agent bundle that is refused', (check) => {
  check('reports every problem of the configuration by its path, quotes nothing, and ends with 1', () =>
    withAgentWorld(async ({ begin }) => {
      const variables = { AGENT_CONFIG_CONTENT: JSON.stringify(BAD_CONFIG) };
      const { code, stdout, lines } = await refusedStart(begin({ variables }));
      assert.equal([code, stdout], [1, '']);
      for (const path of BAD_PATHS) {
        const reported = lines.filter((line) =>
          line.startsWith(`gatehouse agent: AGENT_CONFIG_CONTENT: ${path}: expected `),
        );
        assert.is(reported.length, 1, `${path}: ${lines.join('\n')}`);
      }
      assert.match(lines.join('\n'), 'top level: unknown name "modle", the nearest known one is "model"');
      assert.is(lines.length, BAD_PATHS.length + 1);
      assert.not.match(lines.join('\n'), 'canary');
    }),
  );

  check('names a misspelt variable, which may be the cause', () =>
    withAgentWorld(async ({ begin }) => {
      const { lines } = await refusedStart(begin({ variables: { PORT: 'canary', AGENT_CONFIGCONTENT: 'canary' } }));
      assert.is(
        lines.at(-1),
        'gatehouse agent: AGENT_CONFIGCONTENT: warning: this variable has no effect; did you mean AGENT_CONFIG_CONTENT?',
      );
      assert.not.match(lines.join('\n'), 'canary');
    }),
  );

  check('reports every problem of the settings, and with them those of the configuration', () =>
    withAgentWorld(async ({ begin }) => {
      const variables: Settings = {
        PORT: 'canary-port',
        LOG_LEVEL: 'canary-loud',
        AGENT_DATABASE_URL: 'mysql://canary-pw',
        AGENT_ALLOW_ANONYMOUS: 'canary-yes',
        AGENT_SERVER_USERNAME: 'canary:user',
        AGENT_CONFIG_CONTENT: '{"model":"canary"',
      };
      const { code, lines } = await refusedStart(begin({ variables }));
      assert.is(code, 1);
      for (const name of Object.keys(variables))
        assert.is(lines.filter((line) => line.startsWith(`gatehouse agent: ${name}`)).length, 1, lines.join('\n'));
      assert.is(lines.length, Object.keys(variables).length);
      assert.not.match(lines.join('\n'), 'canary');
    }),
  );

  check('without a password on an address that others reach says so in one line', () =>
    withAgentWorld(async ({ begin }) => {
      for (const HOST of sampled(['0.0.0.0', '::', '192.0.2.1', 'example.com'], 3)) {
        const { code, lines } = await refusedStart(begin({ variables: { HOST, AGENT_SERVER_PASSWORD: undefined } }));
        assert.is(code, 1);
        assert.is(lines.length, 1, lines.join('\n'));
        assert.match(lines[0] ?? '', /^gatehouse agent: AGENT_SERVER_PASSWORD: expected a value when HOST /);
      }
    }),
  );

  check('without a configuration says the three ways to give one', () =>
    withAgentWorld(async ({ begin }) => {
      const { code, lines } = await refusedStart(begin({ variables: { AGENT_CONFIG_CONTENT: undefined } }));
      assert.equal([code, lines.length], [1, 1]);
      for (const word of ['./agent.json', 'AGENT_CONFIG', 'AGENT_CONFIG_CONTENT']) assert.match(lines[0] ?? '', word);
    }),
  );

  check('on a database that is none, or on a port that is taken, says which', () =>
    withAgentWorld(async ({ begin, start, directory }) => {
      const file = join(directory, 'none.db');
      writeFileSync(file, 'this is no database, but a canary');
      const none = await refusedStart(begin({ variables: { AGENT_DATABASE_URL: `sqlite:${file}` } }));
      assert.is(none.code, 1);
      assert.match(none.lines.join('\n'), /^gatehouse agent: AGENT_DATABASE_URL: expected a SQLite database/);
      const agent = await start();
      const { port } = new URL(agent.address);
      const AGENT_DATABASE_URL = `sqlite:${join(directory, 'other.db')}`;
      const taken = await refusedStart(begin({ variables: { PORT: port, AGENT_DATABASE_URL } }));
      assert.is(taken.code, 1);
      assert.match(taken.lines.at(-1) ?? '', `gatehouse agent: PORT: port ${port} on 127.0.0.1 is in use`);
    }),
  );
});
