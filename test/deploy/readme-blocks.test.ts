import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../check.ts';
import { freePort } from '../runtime/processes.ts';
import { freshVariables, README } from './clone.ts';
import { runBlocks, runnableBlocks } from './readme-blocks.ts';

const LEAST_BLOCKS = 3;

/** Runs the marked blocks of a page in an empty directory. */
const runPage = async (page: string): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-page-'));
  try {
    const variables = { ...freshVariables(), NODE: process.execPath };
    await runBlocks(runnableBlocks(page), directory, variables);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
const failure = async (page: string): Promise<string> => String(await rejection(runPage(page)));
const fence = (mark: string, ...lines: readonly string[]): string =>
  [`<!-- runnable${mark} -->`, '```sh', ...lines, '```', ''].join('\n');
const server = (port: number): string =>
  `"$NODE" -e "require('http').createServer((_, reply) => reply.end('it serves')).listen(${port}, '127.0.0.1')"`;
const ask = (port: number): string =>
  `"$NODE" -e "fetch('http://127.0.0.1:${port}').then((a) => a.text()).then(console.log)"`;

describe('marked blocks', (check) => {
  check('run in one shell, one after the other, and others do not run', async () => {
    await runPage(
      [
        fence('', 'export SAID=word', 'echo "$SAID" > file'),
        ['```sh', 'exit 1', '```'].join('\n'),
        fence(': expects "word word"', 'echo "$SAID $(cat file)"'),
      ].join('\n'),
    );
  });

  check('serve until another one serves there, and to the end of the page', async () => {
    const port = await freePort();
    const page = [
      '## One',
      fence(`: serves ${port}`, server(port)),
      fence(': expects "it serves"', ask(port)),
      '## Another',
      fence(': expects "it serves"', ask(port)),
      fence(`: serves ${port}`, server(port)),
      fence(': expects "it serves"', ask(port)),
    ].join('\n');
    await runPage(page);
    await runPage(page);
  });

  check('fail with the first line that fails, and with what was not said', async () => {
    assert.match(await failure(fence('', 'false', 'echo went on')), 'This block failed');
    assert.match(await failure(fence(': expects "more"', 'echo less')), 'Expected more');
    assert.match(await failure(fence(`: serves ${await freePort()}`, 'echo nothing to serve')), 'Nothing serves');
    assert.match(await failure(`${fence('', 'exit 0')}\n${fence('', 'echo here')}`), 'This block failed');
  });

  check('are shell blocks right below their marks', () => {
    for (const page of ['<!-- runnable -->\n\n```sh\n```', '<!-- runnable -->\n```js\n```', '<!-- runnable -->'])
      assert.throws(() => runnableBlocks(page), /marks no shell block/);
  });
});

describe('README', (check) => {
  check('marks the blocks that run as they stand', () => {
    assert.ok(runnableBlocks(README).length >= LEAST_BLOCKS, `fewer than ${LEAST_BLOCKS} blocks are marked`);
  });
});
