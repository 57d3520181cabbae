import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { tool } from '../peer.ts';
import { connected, NOBODY, problem } from './world.ts';

describe('a connection to a tool server', (check) => {
  check('reads all the pages of a list', async () => {
    const pages: Readonly<Record<string, object>> = {
      first: { tools: [tool('a')], nextCursor: 'second' },
      second: { tools: [], nextCursor: 'third' },
      third: { tools: [tool('b'), tool('c')] },
    };
    const { connection } = await connected({ page: (cursor = 'first') => ({ ...pages[cursor] }) });
    assert.equal(
      (await connection.list(NOBODY)).tools.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
  });

  check('reads no list without end', async () => {
    let asked = 0;
    const endless = await connected({ page: () => ({ tools: [], nextCursor: `${++asked}` }) });
    await endless.connection.list(NOBODY);
    assert.is(asked, 50);
    const same = await connected({ page: () => ({ tools: [tool(`t${++asked}`)], nextCursor: 'again' }) });
    assert.is((await same.connection.list(NOBODY)).tools.length, 2);
    const many = await connected({
      page: (cursor = '0') => ({
        tools: Array.from({ length: 150 }, (_, index) => tool(`t${cursor}_${index}`)),
        nextCursor: `${Number(cursor) + 1}`,
      }),
    });
    const { tools, skipped } = await many.connection.list(NOBODY);
    assert.equal([tools.length, skipped], [200, [{ name: 't1_50', reason: 'more than 200 tools' }]]);
  });

  check('has no tools when the server knows no lists, and a problem when the list is none', async () => {
    const { connection } = await connected({
      page: () => {
        throw new McpError(ErrorCode.MethodNotFound, 'no such method');
      },
    });
    assert.equal(await connection.list(NOBODY), { tools: [], skipped: [] });
    const odd = await connected({ page: () => ({ tools: 'all of them' }) });
    await problem(odd.connection.list(NOBODY), 'unusable');
  });

  check('learns that the tools have changed', async () => {
    let collected = 0;
    const { peer } = await connected(
      {},
      {
        onToolsChanged: () => {
          collected += 1;
        },
      },
    );
    await peer.server.sendToolListChanged();
    await new Promise((settle) => setImmediate(settle));
    assert.is(collected, 1);
  });
});
