import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readText } from '../../src/eval/adapter/files.ts';
import { EVAL_CATEGORIES } from '../../src/eval/category.ts';
import { parseItems } from '../../src/eval/labels.ts';
import { jsonRows } from '../../src/eval/row.ts';
import { describe } from '../check.ts';
import { gather } from './world.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'eval.example.jsonl';

describe('the example set', (check) => {
  const read = () => gather(parseItems(jsonRows(readText(join(ROOT, NAME)), NAME), {}, 1000));

  check('has as many rows as its page says, each with an id of its own and a group', async () => {
    const items = await read();
    assert.match(readFileSync(join(ROOT, 'docs/moderation-gateway.md'), 'utf8'), `has ${items.length} short texts`);
    assert.is(new Set(items.map(({ id }) => id)).size, items.length);
    assert.is(new Set(items.map(({ text }) => text)).size, items.length);
    assert.ok(items.every(({ group }) => group !== undefined));
  });

  check('has positives of all categories but one, enough for thresholds of five, and unknown labels', async () => {
    const items = await read();
    const positives = EVAL_CATEGORIES.map((category) => ({
      category,
      count: items.filter(({ known }) => known.get(category) === true).length,
    }));
    assert.equal(
      positives.filter(({ count }) => count === 0).map(({ category }) => category),
      ['sexual/minors'],
    );
    assert.is(positives.filter(({ count }) => count >= 20).length, 5);
    assert.ok(items.some(({ known }) => known.size === 0));
    assert.ok(items.filter(({ known }) => known.get('flagged') === false).length >= 90);
  });
});
