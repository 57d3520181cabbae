import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { limitSize } from '../../../src/relay-admin/read/limit-size.ts';
import type { Json } from '../../../src/relay-admin/read/project.ts';
import { describe } from '../../check.ts';
import { codePoint } from '../../code-points.ts';
import { processorTime } from '../../processor-time.ts';

const bytesOf = (data: Json): number => Buffer.byteLength(JSON.stringify(data));
const many = (length: number): Json[] => Array.from({ length }, (_, id) => ({ id, name: 'n'.repeat(20) }));

describe('a bound on data', (check) => {
  check('leaves whole what fits', () => {
    const data = { items: many(10) };
    assert.equal(limitSize(data, 10_000), { data, isCut: false, itemsLeft: undefined });
    assert.not.ok(limitSize(data, bytesOf(data)).isCut);
    assert.ok(limitSize(data, bytesOf(data) - 1).isCut);
  });
  check('cuts lists no further than it has to', () => {
    const items = many(60);
    const { data, itemsLeft } = limitSize({ items, total: 60 }, bytesOf(items.slice(0, 50)) + 30);
    assert.equal(data, { items: items.slice(0, 50), total: 60 });
    assert.is(itemsLeft, 50);
    assert.is(limitSize({ items }, bytesOf(items.slice(0, 20)) + 30).itemsLeft, 20);
  });
  check('cuts lists by time at their beginning where the newest is wanted, and others at their end', () => {
    const day = (id: number) => ({ id, date: `2026-01-${String(id + 1).padStart(2, '0')}`, name: 'n'.repeat(20) });
    const days = Array.from({ length: 28 }, (_, id) => day(id));
    const keptOf = (items: readonly Json[], keepsNewest?: boolean) =>
      (limitSize({ items }, 800, keepsNewest).data as { items: readonly Json[] }).items;
    assert.equal(keptOf(days, true), days.slice(-10));
    assert.equal(keptOf(days), days.slice(0, 10));
    const newestFirst = days.toReversed();
    assert.equal(keptOf(newestFirst, true), newestFirst.slice(0, 10));
    assert.equal(keptOf(many(60), true), many(60).slice(0, 10));
  });
  check('cuts maps like lists, and leaves the fields of a thing', () => {
    const map = Object.fromEntries(many(500).map((item, id) => [String(id), item]));
    const { data } = limitSize({ enabled: true, account: map, timestamp: 'now' }, 2000);
    assert.equal(Object.keys(data as object), ['enabled', 'account', 'timestamp']);
    assert.is(Object.keys((data as { account: object }).account).length, 20);
  });
  check('cuts texts when lists are not the matter', () => {
    const { data } = limitSize({ a: 'x'.repeat(300), b: '👍'.repeat(300), id: 7 }, 700);
    assert.equal(data, { a: `${'x'.repeat(99)}…`, b: `${'👍'.repeat(99)}…`, id: 7 });
  });
  check('counts bytes and not characters', () => {
    const { data, isCut } = limitSize(['é'.repeat(60), '日'.repeat(60)], 300);
    assert.ok(isCut);
    assert.ok(bytesOf(data) <= 300);
  });
  check('holds for whatever it is given, the same each time, and never makes up a thing', () => {
    const values = fc.oneof(
      fc.jsonValue({ maxDepth: 6 }),
      fc.array(fc.string({ unit: codePoint, maxLength: 50 }), { maxLength: 300 }),
      fc.dictionary(fc.string({ maxLength: 20 }), fc.array(fc.double(), { maxLength: 9 }), { maxKeys: 200 }),
    );
    fc.assert(
      fc.property(values, fc.integer({ min: 4, max: 1000 }), (value, limit) => {
        const { data, isCut } = limitSize(value as Json, limit);
        assert.ok(bytesOf(data) <= limit);
        assert.is(isCut, bytesOf(value as Json) > limit);
        assert.equal(limitSize(value as Json, limit).data, data);
        if (data !== null) assert.is(Array.isArray(data), Array.isArray(value));
      }),
    );
  });
  check('takes no long time for 4 MB', () => {
    for (const data of [many(100_000), Object.fromEntries(many(60_000).map((item, id) => [String(id), item]))]) {
      const spentMs = processorTime();
      assert.ok(bytesOf(limitSize(data, 23_000).data) <= 23_000);
      assert.ok(spentMs() < 2000);
    }
  });
});
