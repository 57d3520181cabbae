import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { fetchText, type Moderation } from './client.ts';
import { bundle, freePort, isGroupAlive, type Running, run, start, type Variables } from './processes.ts';

type Demo = Running & { readonly banner: string; readonly group: number };

/** Runs `body` beside a demo that was started as a terminal would and has said everything. Nothing of it is left over. */
const withDemo = async (variables: Variables, body: (demo: Demo) => Promise<void>): Promise<void> => {
  const running = start(process.execPath, [bundle('gatehouse.js'), 'demo'], { variables, isGroup: true });
  try {
    const [banner] = await running.saying(/^[\s\S]*Ctrl-C ends the demo\.\n/);
    await body({ ...running, banner, group: running.child.pid ?? 0 });
  } finally {
    await running.kill();
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
const isOpen = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    () => true,
    () => false,
  );
const someoneElse = async () => {
  const server = createServer((_, reply) => reply.end('{"status":"ok"}')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
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
        assert.is(ports.length, 2);
        assert.equal(await Promise.all(ports.map(isOpen)), [true, true]);
        if (sender === 'a terminal') process.kill(-demo.group, signal);
        else demo.signal(signal);
        assert.equal(await demo.ended, { code: 0, signal: null });
        assert.not(isGroupAlive(demo.group));
        assert.equal(await Promise.all(ports.map(isOpen)), [false, false]);
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

  check('promises nothing when its port is in use, but says so and ends with 1', async () => {
    const other = await someoneElse();
    const { code, stdout, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'demo'], {
      variables: { PORT: String(other.port) },
    });
    other.close();
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
