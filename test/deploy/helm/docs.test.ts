import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { describe } from '../../check.ts';
import { CASES, SNAPSHOT_CASES } from './cases.ts';
import { CHART, MISSING, manifests, NEWEST, OLDEST, ROOT } from './world.ts';

const PAGE = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
const VALUES = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));

/** Objects that are one value for a reader, whatever is in them. */
const WHOLE = ['resources', 'annotations'];

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every value by its path, with its default as the page writes it. */
const defaultsIn = (part: object, path: readonly string[] = []): readonly string[] =>
  Object.entries(part).flatMap(([name, value]) => {
    const here = [...path, name];
    if (isObject(value) && Object.keys(value).length > 0 && !WHOLE.includes(name)) return defaultsIn(value, here);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [`${here.join('.')}=${text === '' ? 'none' : text}`];
  });

const rows = (): readonly string[] =>
  [...PAGE.matchAll(/^\| `([a-z][A-Za-z_.]+)` \| (?:`([^`]+)`|(none)) \|/gm)].map(
    ([, name, value, none]) => `${name}=${value ?? none}`,
  );

/** What stands behind `--set` in the page, and what its text names as a value. */
const named = (): readonly string[] => [
  ...[...PAGE.matchAll(/--set(?:-file)? '?([A-Za-z_.[\]0-9]+)=/g)].map(([, name = '']) => name),
  ...[...PAGE.matchAll(/`([a-z][A-Za-z]+(?:\.[A-Za-z[\]0-9]+)+)(?:=\w+)?`/g)].map(([, name = '']) => name),
];

/** What stands at a place of the values. Whatever may be put into an empty list or object counts as being there. */
const stepInto = (part: unknown, word: string): unknown => {
  if (typeof part !== 'object' || part === null) return undefined;
  return Object.keys(part).length === 0 ? part : Reflect.get(part, word);
};
const isKnown = (name: string): boolean =>
  name
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .reduce(stepInto, VALUES) !== undefined;

describe('the page of the chart', (check) => {
  check('has every value with its default, in the order of values.yaml', () => {
    assert.ok(rows().length > 80);
    assert.equal(rows(), defaultsIn(VALUES));
  });
  check('names no value that there is not', () => {
    // Files, a host, and a variable of the reader's own.
    const others = /^(?:agent\.(?:json|example\.json|secretKeys\.NAME)|values\.yaml|registry\.example\.com)$/;
    assert.ok(named().length > 30);
    assert.equal(
      named().filter((name) => !others.test(name) && !isKnown(name)),
      [],
    );
  });
  check('reports the versions and the number of cases that are tested', () => {
    assert.match(PAGE, `schemas of\nKubernetes ${OLDEST} and ${NEWEST}`);
    assert.equal([SNAPSHOT_CASES.length, Object.keys(CASES).length], [6, 15]);
    assert.match(PAGE, 'six sets of values against snapshots; every object of fifteen sets');
  });
  check('leads to pages and headings that there are', () => {
    for (const [, file = '', heading] of PAGE.matchAll(/\]\(([\w-]+\.md)?(?:#([\w-]+))?\)/g)) {
      const page = file === '' ? 'kubernetes.md' : file;
      assert.ok(existsSync(join(ROOT, 'docs', page)), page);
      const headings = [...readFileSync(join(ROOT, 'docs', page), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
        ([, text = '']) =>
          text
            .toLowerCase()
            .replace(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
      );
      if (heading !== undefined) assert.ok(headings.includes(heading), `${page}#${heading}`);
    }
  });
  check.needing(MISSING, 'shows a network policy that the chart takes', () => {
    const [, text = ''] = /```yaml\n([\s\S]+?)```/.exec(PAGE) ?? [];
    const policies = manifests({ ...CASES.least, ...parse(text) }).filter(({ kind }) => kind === 'NetworkPolicy');
    assert.is(policies.length, 1);
  });
});
