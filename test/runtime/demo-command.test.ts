import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { fetchText, type Moderation } from './client.ts';
import { bundle, freePort, isGroupAlive, type Running, run, start, type Variables } from './processes.ts';

type Demo = Running & { readonly banner: string; readonly group: number; readonly temporary: string };

/** Runs `body` beside a demo that was started as a terminal would and has said everything. Nothing of it is left over. */
const withDemo = async (variables: Variables, body: (demo: Demo) => Promise<void>): Promise<void> => {
  const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
  const running = start(process.execPath, [bundle('gatehouse.js'), 'demo'], {
    variables: { ...variables, TMPDIR: temporary },
    isGroup: true,
  });
  try {
    const [banner] = await running.saying(/^[\s\S]*Ctrl-C ends the demo\.\n/);
    await body({ ...running, banner, group: running.child.pid ?? 0, temporary });
  } finally {
    await running.kill();
    rmSync(temporary, { recursive: true, force: true });
  }
};

const hasCurl = spawnSync('curl', ['--version']).error === undefined;

/** Does what a printed line says: in a shell, or without curl by reading it as a shell would. */
const tried = async (line: string): Promise<Moderation> => {
  if (hasCurl) return JSON.parse((await run('sh', ['-c', line])).stdout) as Moderation;
  const url = /curl -s (\S+)/.exec(line)?.[1] ?? '';
  const headers = Object.fromEntries(
    [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, text]) => [name, text]),
  );
  const { text } = await fetchText(url, { method: 'POST', headers, body: /-d '([^']+)'/.exec(line)?.[1] });
  return JSON.parse(text) as Moderation;
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
  check('says first that it is a demo, and what it prints can be done as printed', async () => {
    const port = await freePort();
    await withDemo({ PORT: String(port) }, async (demo) => {
      assert.match(demo.banner.split('\n')[0] ?? '', /^THIS IS A DEMO: /);
      assert.is(demo.stderr(), '');
      const lines = demo.banner.split('\n').filter((line) => line.trim().startsWith('curl '));
      assert.is(lines.length, 2);
      assert.match(lines[0] ?? '', `http://127.0.0.1:${port}/v1/moderations`);
      const flags: (boolean | undefined)[] = [];
      for (const line of lines) flags.push((await tried(line)).results[0]?.flagged);
      assert.equal(flags, [true, false]);
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
        assert.is(ports.length, 3);
        assert.equal(await Promise.all(ports.map(isOpen)), [true, true, true]);
        assert.is(readdirSync(demo.temporary).length, 1);
        if (sender === 'a terminal') process.kill(-demo.group, signal);
        else demo.signal(signal);
        assert.equal(await demo.ended, { code: 0, signal: null });
        assert.not(isGroupAlive(demo.group));
        assert.equal(await Promise.all(ports.map(isOpen)), [false, false, false]);
        assert.equal(readdirSync(demo.temporary), []);
      });
    });
  }

  check('takes a port by itself when it is told to, and the key that it is given', async () => {
    await withDemo({ PORT: '0', MODERATION_API_KEY: 'my-own-key' }, async (demo) => {
      const [line = ''] = demo.banner.split('\n').filter((each) => each.includes('curl '));
      assert.match(line, /127\.0\.0\.1:[1-9]\d+\/.*Bearer my-own-key'/);
      assert.is((await tried(line)).results[0]?.flagged, true);
    });
  });

  check('works behind a proxy that knows nothing of this machine', async () => {
    await withDemo({ PORT: '0', HTTP_PROXY: `http://127.0.0.1:${await freePort()}` }, async (demo) => {
      const [line = ''] = demo.banner.split('\n').filter((each) => each.includes('curl '));
      assert.is((await tried(line)).results[0]?.flagged, true);
    });
  });

  check('has a toy relay that an MCP client credits with what is printed', async () => {
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
      const line = /^ {2}(npx .*)$/m.exec(demo.banner)?.[1] ?? '';
      const file = / --config (\S+) /.exec(line)?.[1] ?? '';
      assert.is(readFileSync(file, 'utf8'), `${clientLine(demo)}\n`);
      if (spawnSync('npx', ['--version']).error !== undefined) return;
      const variables = { MCP_INSPECTOR_SECRET_STORE: 'memory', HOME: demo.temporary };
      const { stdout } = await run('sh', ['-c', line], { variables });
      assert.is((JSON.parse(stdout) as { tools: unknown[] }).tools.length, 9);
    });
  });

  check('puts the relay on another port when its own is taken', async () => {
    // Whoever has the port already serves just as well.
    const other = await someoneElse(8090).catch(() => undefined);
    const demoElsewhere = withDemo({ PORT: '0' }, async (demo) => {
      assert.not(portsIn(demo.banner).includes(8090));
      await withClient(demo, async (client) => {
        assert.is((await called(client, 'health', {})).healthy, true);
      });
    });
    await demoElsewhere.finally(() => other?.close());
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
    assert.is(stderr, `gatehouse gateway: PORT: port ${other.port} on 127.0.0.1 is in use; set PORT to a free one\n`);
  });

  check('promises nothing when a variable is wrong, but names it', async () => {
    const { code, stdout, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: '0', MAX_INPUTS: 'many' },
    });
    assert.equal([code, stdout], [1, '']);
    assert.match(stderr, 'MAX_INPUTS: expected a whole number');
  });
});
