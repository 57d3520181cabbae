import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import { until } from '../agent/world.ts';
import { fetchText, type Moderation } from '../client.ts';
import { bundle, freePort, isGroupAlive, type Running, run, start, type Variables } from '../processes.ts';
import { processesOf } from './processes.ts';

type Demo = Running & { readonly banner: string; readonly group: number; readonly temporary: string };

/** Runs `body` beside a demo that was started as a terminal would and has said everything. Nothing of it is left over. */
const withDemo = async (variables: Variables, body: (demo: Demo) => Promise<void>): Promise<void> => {
  const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
  const running = start(process.execPath, [bundle('gatehouse.js'), 'demo'], {
    variables: { ...variables, TMPDIR: temporary },
    isGroup: true,
  });
  try {
    const [banner] = await running.outputMatching(/^[\s\S]*Ctrl-C ends the demo\.\n/);
    await body({ ...running, banner, group: running.child.pid ?? 0, temporary });
  } finally {
    await running.kill();
    rmSync(temporary, { recursive: true, force: true });
  }
};

const NO_SHELL = ['sh', 'curl', 'sed'].find((name) => spawnSync(name, ['--help']).error !== undefined);

/** The ten lines to copy, as they are printed. */
const linesIn = ({ banner }: Demo): readonly string[] =>
  banner.split('\n').flatMap((line) => (/^ {2}(?:curl|cd (?!.* npx )|id=|audit)/.test(line) ? [line.trim()] : []));
/** Pastes a line into a new shell, somewhere else. */
const pasted = async (line: string, directory: string): Promise<string> =>
  (await run('sh', ['-c', line], { directory })).stdout;
const verdictOf = (output: string): boolean | undefined => (JSON.parse(output) as Moderation).results[0]?.flagged;
const answerOf = (output: string): string =>
  (JSON.parse(output) as { choices: [{ message: { content: string } }] }).choices[0].message.content;

/** The address of a service in the banner. */
const addressOf = ({ banner }: Demo, service: string): string =>
  new RegExp(`^ {2}${service} +(http://\\S+)`, 'm').exec(banner)?.[1] ?? '';
const healthOf = async (address: string): Promise<unknown> => {
  const { service } = (await (await fetch(`${address}/health`)).json()) as { service?: string };
  return service;
};
const aliceAt = async (relay: string): Promise<unknown> => {
  const headers = { 'x-api-key': DEMO_ADMIN_KEY };
  const reply = await fetch(`${relay}/api/v1/admin/users/2`, { headers });
  return ((await reply.json()) as { data: { balance: unknown } }).data.balance;
};

const flaggedAt = async (demo: Demo, key: string): Promise<boolean | undefined> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'I will kill you' });
  const { text } = await fetchText(`${addressOf(demo, 'gateway')}/v1/moderations`, { method: 'POST', headers, body });
  return verdictOf(text);
};

const portsIn = (banner: string): number[] => [
  ...new Set([...banner.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port))),
];

type ClientConfiguration = {
  readonly mcpServers: {
    readonly 'relay-admin': {
      readonly command: string;
      readonly args: string[];
      readonly env: Record<string, string>;
    };
  };
};
/** The line of the banner that an MCP client's configuration is made of. */
const clientLine = ({ banner }: Demo): string => /^ {2}(\{"mcpServers".*\})$/m.exec(banner)?.[1] ?? '';

/** Runs `body` with a client that was configured with what the demo printed. */
const withClient = async (demo: Demo, body: (client: Client) => Promise<void>): Promise<void> => {
  const { command, args, env } = (JSON.parse(clientLine(demo)) as ClientConfiguration).mcpServers['relay-admin'];
  const client = new Client({ name: 'demo-test', version: '0.0.0' });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
  await body(client).finally(() => client.close());
};
const called = async (client: Client, name: string, given: Record<string, unknown>) =>
  (await client.callTool({ name, arguments: given })).structuredContent as Record<string, unknown>;

const isOpen = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    () => true,
    () => false,
  );
const someoneElse = async (wanted = 0) => {
  const server = createServer((_, reply) => reply.end('{"status":"ok"}')).listen(wanted, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
};

describe('gatehouse demo', (check) => {
  check(
    'says first where its console is and that it is a demo, and has each service at the address that it prints',
    async () => {
      const port = await freePort();
      await withDemo({ PORT: String(port) }, async (demo) => {
        const [first = '', second = ''] = demo.banner.split('\n').filter((line) => line !== '');
        assert.match(first, `Open ${addressOf(demo, 'console')} in a browser`);
        assert.match(second, /^THIS IS A DEMO: /);
        assert.is(demo.stderr(), '');
        assert.is(addressOf(demo, 'gateway'), `http://127.0.0.1:${port}`);
        const services = ['gateway', 'agent server', 'bridge', 'console', 'judge', 'model'];
        const names = await Promise.all(services.map((service) => healthOf(addressOf(demo, service))));
        assert.equal(names, ['gateway', 'agent', 'bridge', 'console', 'demo-judge', 'demo-model']);
        assert.is((await fetch(`${addressOf(demo, 'relay')}/health`)).status, 200);
      });
    },
  );

  check.needing(NO_SHELL, 'prints ten lines that do in a new shell what they promise, in their order', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      const relay = addressOf(demo, 'relay');
      const [flagged = '', clean = '', client = '', asking = '', approving = '', refused = '', ...more] = linesIn(demo);
      assert.is(more.length, 4);
      assert.is(verdictOf(await pasted(flagged, demo.temporary)), true);
      assert.is(verdictOf(await pasted(clean, demo.temporary)), false);
      assert.match(await pasted(client, demo.temporary), /^demo\/demo-model: .*I am the demo model/);
      const question = answerOf(await pasted(asking, demo.temporary));
      assert.match(question, /The agent asks for approval: relay-admin_recharge/);
      assert.match(question, /Reply "approve \w+" or "reject \w+"\.$/);
      assert.is(await aliceAt(relay), 12.5);
      assert.match(answerOf(await pasted(approving, demo.temporary)), 'Verified: 2.5 was added for alice@example.com');
      assert.is(await aliceAt(relay), 15);
      // Approved a second time there is nothing to approve.
      assert.match(await pasted(approving, demo.temporary), 'No request waits for approval');
      assert.is(await aliceAt(relay), 15);
      assert.match(await pasted(refused, demo.temporary), '"content_policy_violation"');
      const [audited = '', passing = '', doubtful = '', down = ''] = more;
      for (let round = 0; round < 2; round++) {
        assert.match(await pasted(audited, demo.temporary), '"prompt_guard_blocked"');
        assert.match(await pasted(passing, demo.temporary), 'The model answered.');
        assert.match(
          await pasted(doubtful, demo.temporary),
          /The model answered\.[\s\S]*"items":\[\{[^}]*"decision":"flag"/,
        );
        assert.match(await pasted(down, demo.temporary), /"prompt_guard_unavailable"[\s\S]*The model answered\./);
      }
      assert.is(demo.stderr(), '');
    });
  });

  for (const [sender, signal] of [
    ['a terminal', 'SIGINT'],
    ['whoever started it', 'SIGINT'],
    ['whoever started it', 'SIGTERM'],
  ] as const) {
    check(`ends with 0 by a ${signal} from ${sender}, and nothing of it is left`, async () => {
      await withDemo({ PORT: String(await freePort()) }, async (demo) => {
        const ports = portsIn(demo.banner);
        assert.is(ports.length, 7);
        assert.equal(await Promise.all(ports.map(isOpen)), Array(7).fill(true));
        assert.is(readdirSync(demo.temporary).length, 1);
        // A question that nobody has answered yet holds nobody up.
        if (NO_SHELL === undefined) await pasted(linesIn(demo)[3] ?? '', demo.temporary);
        if (sender === 'a terminal') process.kill(-demo.group, signal);
        else demo.signal(signal);
        assert.equal(await demo.ended, { code: 0, signal: null });
        assert.not(isGroupAlive(demo.group));
        assert.equal(await Promise.all(ports.map(isOpen)), Array(7).fill(false));
        assert.equal(processesOf(demo), []);
        assert.equal(readdirSync(demo.temporary), []);
        assert.is(demo.stderr(), '');
      });
    });
  }

  check('leaves no process when it is killed, not even in the middle of a question', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      const [, , , asking = ''] = linesIn(demo);
      if (NO_SHELL === undefined) await pasted(asking, demo.temporary);
      assert.ok(processesOf(demo).length >= 4);
      await demo.kill();
      await until('all of them are gone', () => processesOf(demo).length === 0);
    });
  });

  check('ends with 0 when it is asked to before it is up', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
    const demo = start(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: '0', TMPDIR: temporary },
    });
    try {
      await until('it has begun', () => readdirSync(temporary).length > 0);
      demo.signal('SIGTERM');
      assert.is((await demo.ended).code, 0);
      assert.equal([demo.stdout(), readdirSync(temporary)], ['\nstopping… (again ends it at once)\n', []]);
    } finally {
      await demo.kill();
      rmSync(temporary, { recursive: true });
    }
  });

  check('leaves nothing when its terminal is closed, or no one reads it any more', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      demo.signal('SIGHUP');
      assert.is((await demo.ended).code, 0);
      assert.equal([processesOf(demo), readdirSync(demo.temporary)], [[], []]);
    });
    const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
    const demo = start(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: '0', TMPDIR: temporary },
    });
    try {
      demo.child.stdout?.destroy();
      await demo.ended;
      assert.equal([processesOf({ temporary }), readdirSync(temporary), demo.stderr()], [[], [], '']);
    } finally {
      await demo.kill();
      rmSync(temporary, { recursive: true });
    }
  });

  check('takes a port by itself when it is asked to, and the key that it is given', async () => {
    await withDemo({ PORT: '0', MODERATION_API_KEY: 'my-own-key' }, async (demo) => {
      const [line = ''] = linesIn(demo);
      assert.match(line, /127\.0\.0\.1:[1-9]\d+\/.*Bearer my-own-key'/);
      const models = async (key: string) =>
        (await fetch(`${addressOf(demo, 'bridge')}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
      assert.equal([await models('my-own-key'), await models('another')], [200, 401]);
      assert.is(await flaggedAt(demo, 'my-own-key'), true);
    });
  });

  check('works behind a proxy that knows nothing of this machine', async () => {
    await withDemo({ PORT: '0', HTTP_PROXY: `http://127.0.0.1:${await freePort()}` }, async (demo) => {
      const key = /Bearer ([^']+)'/.exec(demo.banner)?.[1] ?? '';
      assert.is(await flaggedAt(demo, key), true);
    });
  });

  check('takes neither password nor configuration of another agent server and bridge', async () => {
    const others = {
      AGENT_SERVER_PASSWORD: 'another-password',
      AGENT_CONFIG: '/nowhere/agent.json',
      AGENT_CONFIG_CONTENT: '{"model":"other/model"}',
      BRIDGE_CONFIG: '/nowhere/bridge.json',
      DEFAULT_MODEL: 'other/model',
      BRIDGE_APPROVALS: 'reject',
    };
    await withDemo({ PORT: '0', ...others }, async (demo) => {
      assert.is((await fetch(`${addressOf(demo, 'agent server')}/session`)).status, 200);
    });
  });

  check('has a demo relay that an MCP client credits with what is printed', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      await withClient(demo, async (client) => {
        assert.is((await client.listTools()).tools.length, 9);
        const found = await called(client, 'find_user', { email: 'alice@example.com' });
        const { id, balance } = found.user as Record<string, unknown>;
        const { preview_token } = await called(client, 'preview_recharge', { user_id: id, amount: '2.5' });
        const result = await called(client, 'recharge', { preview_token, idempotency_key: 'a-key-for-the-demo' });
        assert.equal([balance, result.outcome, result.balance_after], ['12.5', 'verified', '15']);
      });
    });
  });

  check('prints a line that lists the tools, and has the client file that it names', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      const line = /^ {2}(cd .* npx .*)$/m.exec(demo.banner)?.[1] ?? '';
      const file = / --config (\S+) /.exec(line)?.[1] ?? '';
      assert.is(readFileSync(file, 'utf8'), `${clientLine(demo)}\n`);
      if (spawnSync('npx', ['--version']).error !== undefined) return;
      const variables = { MCP_INSPECTOR_SECRET_STORE: 'memory', HOME: demo.temporary };
      const { stdout } = await run('sh', ['-c', line], { variables, directory: demo.temporary });
      assert.is((JSON.parse(stdout) as { tools: unknown[] }).tools.length, 9);
    });
  });

  check('puts agent server, bridge and relay on other ports when theirs are taken, and says so', async () => {
    const taken = [4000, 4100, 8090];
    // Whoever has a port already serves just as well.
    const others = await Promise.all(taken.map((port) => someoneElse(port).catch(() => undefined)));
    const demoElsewhere = withDemo({ PORT: '0' }, async (demo) => {
      const ports = portsIn(demo.banner);
      for (const port of taken) assert.not(ports.includes(port));
      for (const port of [4000, 4100]) assert.match(demo.banner, `port ${port} is in use, so the `);
      assert.is(demo.stderr(), '');
      assert.is(await healthOf(addressOf(demo, 'bridge')), 'bridge');
      await withClient(demo, async (client) => {
        assert.is((await called(client, 'health', {})).healthy, true);
      });
      demo.signal('SIGTERM');
      assert.is((await demo.ended).code, 0);
    });
    await demoElsewhere.finally(() => {
      for (const other of others) other?.close();
    });
  });

  check('leaves a port of the others to the gateway when it is asked to', async () => {
    const other = await someoneElse(4000).catch(() => undefined);
    other?.close();
    // Somebody else of this machine has it for good.
    if (other === undefined) return;
    await withDemo({ PORT: '4000' }, async (demo) => {
      assert.is(addressOf(demo, 'gateway'), 'http://127.0.0.1:4000');
      assert.is(await healthOf(addressOf(demo, 'agent server')), 'agent');
    });
  });

  check('promises nothing when its port is in use, but says so and ends with 1', async () => {
    const other = await someoneElse();
    const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
    const { code, stdout, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: String(other.port), TMPDIR: temporary },
    });
    other.close();
    assert.equal(readdirSync(temporary), []);
    rmSync(temporary, { recursive: true });
    assert.equal([code, stdout], [1, '']);
    const why = `gatehouse gateway: PORT: port ${other.port} on 127.0.0.1 is in use; set PORT to a free one`;
    assert.is(stderr, `${why}\ngatehouse demo: ended, because gateway did (exit code 1)\n`);
  });

  check('says by which signal a service has ended, and ends with 1', async () => {
    await withDemo({ PORT: '0' }, async (demo) => {
      const bridge = processesOf(demo).find((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('bridge.js'),
      );
      process.kill(Number(bridge), 'SIGKILL');
      assert.is((await demo.ended).code, 1);
      assert.match(demo.stderr(), 'gatehouse demo: ended, because bridge did (signal SIGKILL)\n');
    });
  });

  check('promises nothing when a variable is wrong, but names it', async () => {
    const { code, stdout, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: '0', MAX_INPUTS: 'many' },
    });
    assert.equal([code, stdout], [1, '']);
    assert.match(stderr, 'MAX_INPUTS: expected a whole number');
  });
});
