import * as assert from 'uvu/assert';
import { createAgentTools, type NamedServer, toolNameFor } from '../../../../src/agent/tools/mcp/agent-tools.ts';
import { createListingBuilder } from '../../../../src/agent/tools/mcp/tool-list.ts';

import { describe } from '../../../check.ts';
import { tool } from './peer.ts';

const link = (server: string, ...names: readonly string[]): NamedServer => {
  const { add, listing } = createListingBuilder();
  for (const name of names) add(tool(name));
  const call: NamedServer[1]['call'] = async ({ name }) => ({
    output: `${server}/${name}`,
    title: '',
    metadata: {},
    isError: false,
  });
  return [server, { listing, call }];
};

describe('the tools of all servers', (check) => {
  check('have the name of their server before their own, in characters that every model takes', () => {
    assert.is(toolNameFor('relay-admin', 'find_user'), 'relay-admin_find_user');
    assert.is(toolNameFor('demo', 'slow.tool'), 'demo_slow_tool');
    assert.is(toolNameFor('my server', 'réad\u200b/x'), 'my_server_r_ad__x');
  });

  check('are called by the name that their server gave them, and ask for the whole tool', async () => {
    const { tools } = createAgentTools([link('demo', 'slow.tool')]);
    const context = { sessionID: 's', messageID: 'm', callID: 'c', agent: 'a', signal: new AbortController().signal };
    assert.is((await tools[0]?.run({}, context))?.output, 'demo/slow.tool');
    assert.equal(tools[0]?.patternsFor({ anything: 'at all' }), ['*']);
    assert.equal(tools[0]?.origin, { server: 'demo', tool: 'slow.tool' });
  });

  check(
    'are destructive only where their server says so itself, as MCP takes every tool without a word for one',
    () => {
      const { add, listing } = createListingBuilder();
      const marks: readonly (readonly [unknown, true | undefined])[] = [
        [{ readOnlyHint: false, destructiveHint: true }, true],
        [{ readOnlyHint: true, destructiveHint: true }, true],
        [{ readOnlyHint: false, destructiveHint: false }, undefined],
        [{ readOnlyHint: false }, undefined],
        [{ destructiveHint: 'true' }, undefined],
        [[true], undefined],
        [undefined, undefined],
      ];
      for (const [index, [annotations]] of marks.entries()) add(tool(`t${index}`, { annotations }));
      const { tools } = createAgentTools([['demo', { listing, call: link('demo')[1].call }]]);
      assert.equal(
        tools.map(({ isDestructive }) => isDestructive),
        marks.map(([, isDestructive]) => isDestructive),
      );
    },
  );

  check('are left out when their name is too long or taken, no matter who comes first', async () => {
    const { tools, skipped } = createAgentTools([
      link('a_b', 'c', 'd.e', 'd e', 'n'.repeat(60), 'n'.repeat(61)),
      link('a', 'b_c', 'x'),
    ]);
    assert.equal(
      tools.map(({ name }) => name),
      ['a_b_c', 'a_b_d_e', `a_b_${'n'.repeat(60)}`, 'a_x'],
    );
    assert.equal(skipped, [
      { server: 'a_b', name: 'd_e', reason: 'a name that is taken' },
      { server: 'a_b', name: 'n'.repeat(61), reason: 'a name of more than 64 characters' },
      { server: 'a', name: 'b_c', reason: 'a name that is taken' },
    ]);
    const context = { sessionID: 's', messageID: 'm', callID: 'c', agent: 'a', signal: new AbortController().signal };
    assert.is((await tools[0]?.run({}, context))?.output, 'a_b/c');
  });

  check('that are left out are reported by a name that may be shown', () => {
    const { skipped } = createAgentTools([link('a', 'x\n"y\u202e', 'x__y_', `${'<'.repeat(200)}`)]);
    assert.equal(
      skipped.map(({ name }) => name),
      ['x__y_', '_'.repeat(64)],
    );
  });
});
