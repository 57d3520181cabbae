import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import {
  actionFor,
  actionForAll,
  isToolHidden,
  parsePermissionRules,
} from '../../../src/agent/protocol/permission-rules.ts';
import type { Rule } from '../../../src/agent/protocol/types.ts';
import { matchesWildcard } from '../../../src/agent/protocol/wildcard.ts';
import { describe, thorough } from '../../check.ts';

/** The same, said as a regular expression: short texts only. */
const naively = (text: string, pattern: string): boolean => {
  const slashed = pattern.replaceAll('\\', '/');
  const isOptional = slashed.endsWith(' *');
  const source = (isOptional ? slashed.slice(0, -2) : slashed)
    .replace(/[.+^${}()|[\]/]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}${isOptional ? '(?: .*)?' : ''}$`, 'su').test(text.replaceAll('\\', '/'));
};

const short = (alphabet: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength }).map((chars) => chars.join(''));

describe('a wildcard', (check) => {
  const MATCHES: readonly (readonly [pattern: string, text: string])[] = [
    ['*', ''],
    ['*', 'line\nline'],
    ['', ''],
    ['relay-admin_*', 'relay-admin_recharge'],
    ['relay-admin_*', 'relay-admin_'],
    ['ls *', 'ls'],
    ['ls *', 'ls -la'],
    ['ls *', 'ls '],
    ['*.ts', 'a.ts.ts'],
    ['a?c', 'a😀c'],
    ['src\\*', 'src/a/b'],
    ['src/*', 'src\\a'],
    ['a*b*c', 'a-b-b-c-c'],
    ['**', 'x'],
  ];
  for (const [pattern, text] of MATCHES) {
    check(`${JSON.stringify(pattern)} covers ${JSON.stringify(text)}`, () => assert.ok(matchesWildcard(text, pattern)));
  }

  const MISSES: readonly (readonly [pattern: string, text: string])[] = [
    ['', 'x'],
    ['ls *', 'lsx'],
    ['ls*', 'xls'],
    ['relay-admin_*', 'relay-admin'],
    ['relay-admin_*', 'my-relay-admin_read'],
    ['?', ''],
    ['?', 'ab'],
    ['a.c', 'abc'],
    ['Read', 'read'],
    ['a*b', 'a-b-c'],
    ['[ab]', 'a'],
    ['a|b', 'a'],
    ['^a$', 'a'],
  ];
  for (const [pattern, text] of MISSES) {
    check(`${JSON.stringify(pattern)} does not cover ${JSON.stringify(text)}`, () =>
      assert.not(matchesWildcard(text, pattern)),
    );
  }

  check('agrees with a regular expression about every short text', () => {
    const alphabet = ['a', 'b', ' ', '*', '?', '/', '\\', '.', '\n', '😀', '-', '$', '('];
    fc.assert(
      fc.property(short(alphabet, 8), short(alphabet, 6), (text, pattern) => {
        assert.is(matchesWildcard(text, pattern), naively(text, pattern), JSON.stringify({ text, pattern }));
      }),
      { numRuns: thorough(500, 20_000) },
    );
    const likely = ['a', 'b', '*', '?', ' '];
    fc.assert(
      fc.property(short(['a', 'b', ' '], 10), short(likely, 8), (text, pattern) => {
        assert.is(matchesWildcard(text, pattern), naively(text, pattern), JSON.stringify({ text, pattern }));
      }),
      { numRuns: thorough(500, 20_000) },
    );
  });

  check('takes no long time over a hostile pair', () => {
    const long = 'a'.repeat(20_000);
    const pairs: readonly (readonly [text: string, pattern: string])[] = [
      [long, `${'*a'.repeat(400)}b`],
      [long, `*${'a'.repeat(900)}b`],
      [long, `*${'?'.repeat(900)}b`],
      [long, `${'*?'.repeat(450)}b`],
      [`${long}b`, `${'a*'.repeat(450)}c`],
      ['a '.repeat(10_000), `${'* '.repeat(400)}b *`],
    ];
    const startedAt = performance.now();
    for (const [text, pattern] of pairs) assert.not(matchesWildcard(text, pattern));
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 3000, `${tookMs} ms`);
  });

  check('takes no long time over a very long pattern, however it is written', () => {
    const startedAt = performance.now();
    for (const piece of ['x', '*x', '?', 'x*?', '*', '😀']) {
      const pattern = piece.repeat(200_000 / piece.length);
      assert.not(matchesWildcard('task', `${pattern}y`), piece);
      assert.not(matchesWildcard('task', `y${pattern}`), piece);
    }
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 3000, `${tookMs} ms`);
  });
});

const RULES: readonly Rule[] = parsePermissionRules({
  '*': 'ask',
  read: 'allow',
  bash: { '*': 'deny', 'ls *': 'allow', 'rm *': 'deny', 'ls secret*': 'ask' },
});

describe('permission rules', (check) => {
  check('that are very many and very long are gone through for two hundred tools without a long wait', () => {
    const rules = Array.from({ length: 1000 }, (_, count): Rule => {
      const pattern = `${'?*'.repeat(95)}${count}`;
      return { permission: pattern, pattern, action: 'deny' };
    });
    const startedAt = performance.now();
    for (let tool = 0; tool < 200; tool++) assert.not(isToolHidden(rules, `server_${'t'.repeat(50)}${tool}x`));
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 1500, `${tookMs} ms`);
  });

  check('stand in the order in which they were written', () => {
    assert.equal(parsePermissionRules('deny'), [{ permission: '*', pattern: '*', action: 'deny' }]);
    assert.equal(parsePermissionRules({}), []);
    assert.equal(parsePermissionRules({ b: 'ask', a: { y: 'allow', '*': 'deny' } }), [
      { permission: 'b', pattern: '*', action: 'ask' },
      { permission: 'a', pattern: 'y', action: 'allow' },
      { permission: 'a', pattern: '*', action: 'deny' },
    ]);
  });

  check('are decided by the last one that covers the call', () => {
    assert.is(actionFor(RULES, 'read', 'any'), 'allow');
    assert.is(actionFor(RULES, 'bash', 'ls -la'), 'allow');
    assert.is(actionFor(RULES, 'bash', 'ls secrets'), 'ask');
    assert.is(actionFor(RULES, 'bash', 'cat x'), 'deny');
    assert.is(actionFor(RULES, 'webfetch', '*'), 'ask');
    assert.is(actionFor([...RULES, ...parsePermissionRules('allow')], 'bash', 'rm x'), 'allow');
  });

  check('say ask where none of them says anything', () => {
    assert.is(actionFor([], 'bash', 'ls'), 'ask');
    assert.is(actionFor(parsePermissionRules({ bash: { 'ls *': 'allow' } }), 'bash', 'rm'), 'ask');
    assert.is(actionForAll([], 'bash', []), 'ask');
  });

  check('deny a call of which they deny a part, and ask for one of which they ask for a part', () => {
    const ruling = (...patterns: string[]) => actionForAll(RULES, 'bash', patterns);
    assert.is(ruling('ls -la', 'rm x'), 'deny');
    assert.is(ruling('rm x', 'ls -la'), 'deny');
    assert.is(ruling('ls -la', 'ls secrets'), 'ask');
    assert.is(ruling('ls secrets', 'rm x'), 'deny');
    assert.is(ruling('ls -la', 'ls'), 'allow');
  });

  check('take a call without a pattern for one of everything, never for one that nothing forbids', () => {
    assert.is(actionForAll(RULES, 'bash', []), 'deny');
    assert.is(actionForAll(RULES, 'read', []), 'allow');
    assert.is(actionForAll(parsePermissionRules({ bash: { 'ls *': 'allow' } }), 'bash', []), 'ask');
  });

  check('hide a tool when the last rule for it denies everything, and only then', () => {
    assert.ok(isToolHidden(parsePermissionRules({ '*': 'allow', 'relay-admin_*': 'deny' }), 'relay-admin_read'));
    assert.not(
      isToolHidden(parsePermissionRules({ 'relay-admin_*': 'deny', 'relay-admin_read': 'ask' }), 'relay-admin_read'),
    );
    assert.ok(isToolHidden(parsePermissionRules({ bash: { 'ls *': 'allow', '*': 'deny' } }), 'bash'));
    assert.not(isToolHidden(RULES, 'bash'));
    assert.not(isToolHidden(parsePermissionRules({ task: { '*': 'deny', maintainer: 'allow' } }), 'task'));
    assert.not(isToolHidden(parsePermissionRules({ task: { maintainer: 'deny' } }), 'task'));
    assert.not(isToolHidden([], 'bash'));
  });
});
