import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { brokenLinksIn, decisions, ROOT, read } from './pages.ts';

const PAGES = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

const CODE_PAGES = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...PAGES, ...decisions()];
/** Where a path in a text may begin: at the top, in src, or in one of the services. */
const STARTS = ['', 'src', ...readdirSync(join(ROOT, 'src')).map((name) => join('src', name))];

/** Files and folders of the code that a page names in backticks and that are not there. */
const missingPathsIn = (page: string): readonly string[] =>
  [...read(page).matchAll(/`([a-z][\w.-]*(?:\/[\w.-]+)+\.ts)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !STARTS.some((start) => existsSync(join(ROOT, start, path))));

describe('the pages about the code', (check) => {
  for (const page of CODE_PAGES)
    check(`${page} names no file that is not there`, () => assert.equal(missingPathsIn(page), []));
});

describe('the pages in docs', (check) => {
  for (const page of PAGES) {
    check(`${page} has no relative link that leads nowhere`, () => assert.equal(brokenLinksIn(page), []));
  }
  check('are found, with links in them', () => {
    assert.ok(PAGES.length >= 6);
    for (const page of ['docs/scale.md', 'docs/threat-model.md', 'docs/bridge.md'])
      assert.ok([...read(page).matchAll(/\]\([^)]*#[^)]+\)/g)].length > 4, page);
  });
});
