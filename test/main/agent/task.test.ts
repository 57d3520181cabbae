import * as assert from 'uvu/assert';
import { SessionDocumentError } from '../../../src/agent/session/document.ts';
import { parseTask } from '../../../src/main/agent/task.ts';
import { describe } from '../../check.ts';

const DAY_MS = 86_400_000;
const problemOf = (words: readonly string[]): string => {
  try {
    parseTask(words);
  } catch (error) {
    if (error instanceof SessionDocumentError) return error.problems.join('\n');
    throw error;
  }
  throw new Error(`${words.join(' ')} was accepted`);
};

describe('the words of gatehouse agent', (check) => {
  check('ask for a list of sessions', () => {
    assert.equal(parseTask(['sessions']), { kind: 'sessions', limit: 50, isJson: false });
    assert.equal(parseTask(['sessions', '--json', '--limit', '7']), { kind: 'sessions', limit: 7, isJson: true });
    assert.equal(parseTask(['sessions', '--limit=7']), { kind: 'sessions', limit: 7, isJson: false });
  });

  check('ask to export and to import', () => {
    assert.equal(parseTask(['export', 'ses_1']), { kind: 'export', sessionID: 'ses_1' });
    assert.equal(parseTask(['import', '-']), { kind: 'import', file: '-', hasNewIDs: false });
    assert.equal(parseTask(['import', '--new-ids', 'a']), { kind: 'import', file: 'a', hasNewIDs: true });
  });

  check('ask to prune by age, by number, or by both', () => {
    const pruned = (words: readonly string[]) => {
      const task = parseTask(['prune', ...words]);
      return task.kind === 'prune' ? [task.limits.ageMs, task.limits.count, task.isDryRun] : [];
    };
    assert.equal(pruned(['--older-than', '30d']), [30 * DAY_MS, undefined, false]);
    assert.equal(pruned(['--keep=1000', '--dry-run']), [undefined, 1000, true]);
    assert.equal(pruned(['--dry-run', '--keep', '1', '--older-than=2w']), [14 * DAY_MS, 1, true]);
    for (const [text, ms] of [
      ['1m', 60_000],
      ['12h', DAY_MS / 2],
      ['99999w', 99_999 * 7 * DAY_MS],
    ] as const)
      assert.equal(pruned(['--older-than', text]), [ms, undefined, false]);
  });

  check('that ask for nothing known are refused with what was expected, and never repeated', () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['secret-word'], 'expected one of sessions, export, import, prune'],
      [['export'], 'expected export <session>'],
      [['export', 'a', 'secret-word'], 'expected export <session>'],
      [['export', '--secret-word', 'a'], 'expected export <session>'],
      [['import'], 'expected import <file | -> [--new-ids]'],
      [['import', 'a', '--new-ids=secret-word'], 'expected import <file | -> [--new-ids]'],
      [['sessions', 'secret-word'], 'expected sessions [--limit N] [--json]'],
      [['sessions', '--limit'], 'expected sessions [--limit N] [--json]'],
      [['sessions', '--json', '--json'], 'expected sessions [--limit N] [--json]'],
      [['sessions', '--limit', '0'], '--limit: expected a whole number from 1'],
      [['sessions', '--limit', 'secret-word'], '--limit: expected a whole number from 1'],
      [['prune', 'secret-word', '--keep', '1'], 'expected prune --older-than 30d | --keep 1000 [--dry-run]'],
      [['prune', '--keep', '1', '--dryrun'], 'expected prune --older-than 30d | --keep 1000 [--dry-run]'],
      [['prune', '--keep', '0'], '--keep: expected a whole number from 1'],
      [['prune', '--keep', '--dry-run'], '--keep: expected a whole number from 1'],
      [['prune', '--older-than', '30'], '--older-than: expected a number and m, h, d or w, such as 30d'],
      [['prune', '--older-than', '0d'], '--older-than: expected a number and m, h, d or w, such as 30d'],
    ];
    for (const [words, expected] of cases) {
      assert.is(problemOf(words), `${expected}; see gatehouse agent --help`, words.join(' '));
    }
    for (const words of [['prune'], ['prune', '--dry-run']])
      assert.match(problemOf(words), /^expected --older-than with an age such as 30d, --keep with .*, or both; see/);
  });
});
