import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { brokenLinksIn, ROOT, read } from './pages.ts';

const PAGES = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

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
