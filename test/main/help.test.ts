import * as assert from 'uvu/assert';
import { GatewayVariables } from '../../src/gateway/settings/variables.ts';
import { GATEWAY_HELP, HELP } from '../../src/main/help.ts';
import { describe } from '../check.ts';
import { read } from '../docs/pages.ts';

const ROW = /^ {2}([A-Z_]+(?:, [A-Z_]+)*) {2,}(.+)$/gm;
const entries = new Map(Object.entries<{ readonly default?: unknown }>(GatewayVariables.entries));

describe('the help of the gateway', (check) => {
  const rows = [...GATEWAY_HELP.matchAll(ROW)].map(([, names = '', meaning = '']) => ({
    names: names.split(', '),
    meaning,
  }));

  check('names only variables that it has, with their defaults', () => {
    assert.ok(rows.length > 10);
    for (const { names, meaning } of rows) {
      for (const name of names) assert.ok(entries.has(name), name);
      const [, shown] = /\(default ([^:)]+)/.exec(meaning) ?? [];
      if (shown !== undefined)
        assert.is(shown, names.map((name) => entries.get(name)?.default).join(', '), names.join());
    }
  });

  check('names the settings that decide how many calls are made and what a client gets without a verdict', () => {
    const named = rows.flatMap(({ names }) => names);
    for (const name of ['REUSE_PORT', 'UNJUDGED_INPUT', 'NO_VERDICT', 'REDIS_URL'])
      assert.ok(named.includes(name), name);
  });
});

describe('the help of the program', (check) => {
  check('says what it is in the words of the README, as the package does', () => {
    const words = (text: string): string => text.replace(/\s+/g, ' ');
    const [, told = ''] = /^Gatehouse is (five services [^.]+)\./m.exec(read('README.md')) ?? [];
    assert.match(told, /^five services around large language models: they moderate texts/);
    assert.is(JSON.parse(read('package.json')).description.toLowerCase(), words(told));
    assert.ok(words(HELP).includes(words(told).replace(': they', '. They')));
  });
});
