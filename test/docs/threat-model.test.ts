import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { ROOT, read } from './pages.ts';

const PAGE = read('docs/threat-model.md');
/** The rows of all tables: threat, what stands against it, tests, what is left. */
const ROWS = PAGE.split('\n')
  .filter((line) => /^\| (?!threat )/.test(line))
  .map((line) => line.slice(2, -2).split(' | '));

describe('the threat model', (check) => {
  check('names tests that there are, and nothing else by that form', () => {
    const named = [...PAGE.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
    assert.ok(named.length > 80);
    assert.equal(
      named.filter((file) => !file.endsWith('.test.ts') || !existsSync(join(ROOT, file))),
      [],
    );
  });
  check('says of each threat what stands against it, which test shows it, and what is left', () => {
    assert.ok(ROWS.length > 35);
    for (const row of ROWS) {
      assert.is(row.length, 4, row.join(' | '));
      assert.match(row[2] ?? '', /^`test\/[^`]+`(?:, `test\/[^`]+`)*$/);
      assert.ok(
        row.every((cell) => cell.trim() !== ''),
        row[0] ?? '',
      );
    }
  });
});
