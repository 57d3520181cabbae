import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { problemOf } from '../tool-calls.ts';
import { among, others, over, pageOf, type Row, user } from './world.ts';

describe('find_user', (check) => {
  check('finds the last of a thousand users', async () => {
    const { find, asked } = among([...others(999), user(7, 'ada@example.com')]);
    assert.is(((await find()).user as Row).id, 7);
    assert.equal(
      asked.map(({ query }) => query.page),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
  });

  check('reads on after a match, because a second one makes it ambiguous', async () => {
    const { find } = among([user(9, 'ada@example.com'), ...others(150), user(7, 'ADA@example.com ')]);
    assert.equal(await problemOf(find()), { kind: 'ambiguous-user', ids: [7, 9] });
  });

  check('names at most 20 of the users that share an e-mail', async () => {
    const { find } = among(Array.from({ length: 30 }, (_, index) => user(index + 1, 'ada@example.com')));
    const detail = await problemOf(find());
    assert.ok(detail.kind === 'ambiguous-user');
    assert.equal(
      detail.ids,
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  check('gives up on a list that is too long, after its first page', async () => {
    const { find, asked } = over(() => ({ items: others(100), total: 5001 }));
    assert.equal(await problemOf(find()), { kind: 'too-many-users', limit: 5000 });
    assert.is(asked.length, 1);
  });

  check('still reads the longest list that it takes', async () => {
    const { find, asked } = among([...others(4999), user(7, 'ada@example.com')]);
    assert.is(((await find()).user as Row).id, 7);
    assert.is(asked.length, 50);
  });

  check('starts again when the list grew between two pages', async () => {
    const before = [user(7, 'ada@example.com'), ...others(150)];
    const after = [...before, user(6, 'new@example.com')];
    const { find, asked } = over((call, index) => pageOf(index === 0 ? before : after, call));
    assert.is(((await find()).user as Row).id, 7);
    assert.equal(
      asked.map(({ query }) => query.page),
      [1, 2, 1, 2],
    );
  });

  check('starts again when a row was seen twice, which means that another was missed', async () => {
    const rows = [...others(150), user(7, 'ada@example.com')];
    const moved = [...rows.slice(0, 100), ...rows.slice(99, 150)];
    const { find } = over((call, index) => pageOf(index < 2 ? moved : rows, call));
    assert.is(((await find()).user as Row).id, 7);
  });

  check('says that the list moved when it does so twice', async () => {
    const { find, asked } = over((call, index) => ({ ...pageOf(others(150), call), total: 150 + index }));
    assert.equal(await problemOf(find()), { kind: 'list-moved' });
    assert.is(asked.length, 4);
  });

  check('does not trust a match on a list that ends before its total', async () => {
    const { find, asked } = over(({ query }) => ({
      items: query.page === 1 ? [user(7, 'ada@example.com')] : [],
      total: 2,
    }));
    assert.equal(await problemOf(find()), { kind: 'list-moved' });
    assert.is(asked.length, 4);
  });

  check('does not follow a list for ever that comes a row at a time', async () => {
    const { find, asked } = over(({ query }) => ({
      items: [user(Number(query.page), 'eve@example.com')],
      total: 5000,
    }));
    assert.equal(await problemOf(find()), { kind: 'list-moved' });
    assert.is(asked.length, 100);
  });

  check('does not trust a match on a list with more rows than its total', async () => {
    const { find } = over(() => ({ items: [user(7, 'ada@example.com'), user(8, 'ada@example.com ')], total: 1 }));
    assert.equal(await problemOf(find()), { kind: 'list-moved' });
  });

  const misshapen: readonly (readonly [string, unknown])[] = [
    ['no list at all', 'ada@example.com'],
    ['a list without a total', { items: [] }],
    ['a total that is no number', { items: [], total: '1' }],
    ['a negative total', { items: [], total: -1 }],
    ['rows that are no list', { items: { 0: user(7, 'ada@example.com') }, total: 1 }],
    ['more rows than a page ever has', { items: others(1001), total: 1001 }],
    ['a row without an e-mail', { items: [user(7, 'ada@example.com'), { id: 8 }], total: 2 }],
    [
      'another user whose id is null',
      { items: [user(7, 'ada@example.com'), { ...user(8, 'eve@example.com'), id: null }], total: 2 },
    ],
    ['an id that is a text', { items: [{ ...user(7, 'ada@example.com'), id: '7' }], total: 1 }],
    ['an id that a number cannot hold', { items: [user(2 ** 53, 'ada@example.com')], total: 1 }],
    ['a balance that is a text', { items: [user(7, 'ada@example.com', { balance: '12' })], total: 1 }],
  ];
  for (const [name, answer] of misshapen) {
    check(`calls ${name} a breach of the contract`, async () => {
      const { find } = over(() => answer);
      assert.equal(await problemOf(find()), { kind: 'upstream-contract', why: 'unexpected-shape' });
    });
  }
});
