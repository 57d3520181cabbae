import * as assert from 'uvu/assert';
import { REFUSAL_REASONS } from '../../src/llm/key-state.ts';
import { describe } from '../check.ts';
import { read, sourcesOf, unique } from './pages.ts';

const PAGE = read('docs/moderation-gateway.md');
const SOURCES = [
  ...sourcesOf('src/gateway'),
  ...sourcesOf('src/llm'),
  ...[
    'src/main/gateway.node.ts',
    'src/core/config.ts',
    'src/core/http/handler.ts',
    'src/adapter/node/service.ts',
    'src/gateway/adapter/redis/connection.ts',
    'src/gateway/adapter/redis/shared-state.ts',
    'src/gateway/adapter/redis/verdicts.ts',
  ].map(read),
].join('\n');
const matchesIn = (text: string, form: RegExp): string[] => [...text.matchAll(form)].map(([, word = '']) => word);

describe('the page of the gateway', (check) => {
  check('has every event that is logged there, and no others', () => {
    const [, table = ''] = PAGE.split('| event | level | |\n|---|---|---|\n');
    const rows = table.split('\n\n')[0]?.split('\n') ?? [];
    const listed = rows.flatMap((row) => matchesIn(row.split('|')[1] ?? '', /`([a-z-]+)`/g));
    const logged = [
      ...matchesIn(SOURCES, /\blog\(\s*(?:'\w+'|level),\s*'([a-z-]+)'/g),
      ...matchesIn(SOURCES, /\? '(ready)' : '(?:not-ready)'/g),
      ...matchesIn(SOURCES, /'(not-ready)'/g),
    ];
    assert.equal(unique(listed), unique(logged));
  });
  check('has every reason why a backend refuses a key, with its cool-down', () => {
    const [, table = ''] = PAGE.split('| response of the backend | reason | cool-down |\n|---|---|---|\n');
    const rows = table.split('\n\n')[0] ?? '';
    assert.equal(unique(matchesIn(rows, /\| `(\w+)` \|/g)), unique(REFUSAL_REASONS));
  });
  check('names the fields that a line of its log may have', () => {
    const [, fields = ''] = /where they apply\s+these fields:\s+([\s\S]*?)\. There is no field/.exec(PAGE) ?? [];
    const known = matchesIn(read('src/core/log.ts'), /readonly (\w+)\?:/g);
    const named = matchesIn(fields, /`(\w+)`/g);
    assert.ok(named.length > 10);
    assert.equal(
      named.filter((name) => !known.includes(name)),
      [],
    );
  });
});
