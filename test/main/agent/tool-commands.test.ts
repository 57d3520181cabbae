import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { createCommandLookup } from '../../../src/main/agent/tool-commands.ts';
import { describe } from '../../check.ts';

describe('the programs of tool servers', (check) => {
  check('are this one and its Node, under their names', () => {
    const { replacements: words } = createCommandLookup({});
    assert.equal(words.get('node'), [process.execPath]);
    const [node, file = ''] = words.get('gatehouse') ?? [];
    assert.is(node, process.execPath);
    assert.match(file, /gatehouse\.[jt]s$/);
    assert.ok(existsSync(file));
  });

  check('are looked for beside the configuration', () => {
    assert.is(createCommandLookup({}).directory, resolve('.'));
    assert.is(createCommandLookup({ AGENT_CONFIG: ' ' }).directory, resolve('.'));
    assert.is(createCommandLookup({ AGENT_CONFIG: 'conf/agent.json' }).directory, resolve('conf'));
    assert.is(createCommandLookup({ AGENT_CONFIG: '/etc/gatehouse/agent.json' }).directory, '/etc/gatehouse');
  });
});
