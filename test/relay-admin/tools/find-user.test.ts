import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { createFindUserTool } from '../../../src/relay-admin/tools/find-user.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createWorld, refusalOf, resultOf } from '../harness/world.ts';
import {
  type Answering,
  type Asked,
  assertWellDescribed,
  callTool,
  createScriptedRelay,
  HOSTILE,
  problemOf,
  SILENCE,
  UNSEEN,
} from './scripted-relay.ts';

type Row = Readonly<Record<string, unknown>>;

const user = (id: number, email: string, more: Row = {}): Row => ({
  id,
  email,
  username: `user ${id}`,
  role: 'user',
  status: 'active',
  balance: 12.5,
  frozen_balance: 0,
  concurrency: 5,
  rpm_limit: 0,
  notes: 'a note of the operator',
  api_keys: [{ key: 'sk-canary' }],
  last_used_at: null,
  created_at: '2026-01-01T00:00:00Z',
  ...more,
});

const others = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, index) => user(1000 + index, `other-${index}@example.com`));

const pageOf = (rows: readonly Row[], { query }: Asked) => {
  const [page, size] = [Number(query.page), Number(query.page_size)];
  return { items: rows.slice((page - 1) * size, page * size), total: rows.length, page, page_size: size, pages: 1 };
};

const over = (answering: Answering) => {
  const { relay, asked } = createScriptedRelay(answering);
  const tool = createFindUserTool({ relay });
  return { asked, tool, find: (email: unknown = 'ada@example.com') => callTool(tool, { email }) };
};

const among = (rows: readonly Row[]) => over((asked) => pageOf(rows, asked));

describe('find_user', (check) => {
  check('is described for a model', () => assertWellDescribed(among([]).tool));

  check('finds an address with a letter whose lower case is longer, in either form', async () => {
    const world = createWorld();
    const user = world.control.user(2);
    for (const stored of ['İstanbul@example.com', 'kadİköy@İzmir.example', 'i\u0307stanbul@example.com']) {
      user.email = stored;
      for (const email of [stored, stored.toLowerCase(), ` ${stored}`]) {
        const found = await resultOf(world.start(), 'find_user', { email });
        assert.is((found.user as { id: number }).id, 2, `${stored} by ${email}`);
      }
    }
    assert.match(await refusalOf(world.start(), 'find_user', { email: 'istanbul@example.com' }), /^NOT_FOUND/);
  });

  check('finds the one user with exactly this e-mail, and shows no more than it should', async () => {
    const { find } = among([user(7, 'ada@example.com')]);
    assert.equal(await find(), {
      user: {
        id: 7,
        email: 'ada@example.com',
        username: 'user 7',
        role: 'user',
        status: 'active',
        balance: '12.5',
        frozen_balance: '0',
        concurrency: 5,
        rpm_limit: 0,
        last_used_at: null,
        created_at: '2026-01-01T00:00:00Z',
      },
    });
  });

  check('asks for the fixed route with fixed parameters', async () => {
    const { find, asked } = among([user(7, 'ada@example.com')]);
    await find();
    assert.equal(asked, [
      {
        path: 'users',
        query: {
          search: 'ada@example.com',
          include_subscriptions: false,
          sort_by: 'created_at',
          sort_order: 'asc',
          page: 1,
          page_size: 100,
        },
      },
    ]);
  });

  check('ignores case and blanks on both sides', async () => {
    const { find, asked } = among([user(7, '  Ada@Example.COM ')]);
    const { user: found } = await find('\t ADA@example.com\n');
    assert.is((found as Row).id, 7);
    assert.is(asked[0]?.query.search, 'ada@example.com');
  });

  const unknownNames = [
    'ada@example.com.evil.test',
    'xada@example.com',
    'a.da@example.com',
    'ada+1@example.com',
    'ada@example.com\u200b',
    'ad\u0430@example.com',
  ];
  for (const email of unknownNames) {
    check(`does not take ${JSON.stringify(email)} for the user`, async () => {
      const { find } = among([user(8, email)]);
      assert.equal(await problemOf(find()), { kind: 'no-such-user' });
    });
  }

  check('does not fall for a user whose name or note holds the e-mail', async () => {
    const { find } = among([user(8, 'eve@example.com', { username: 'ada@example.com', notes: 'ada@example.com' })]);
    assert.equal(await problemOf(find()), { kind: 'no-such-user' });
  });

  check('says that there is no such user for an empty list, also when that comes as null', async () => {
    assert.equal(await problemOf(among([]).find()), { kind: 'no-such-user' });
    const { find } = over(() => ({ items: null, total: 0 }));
    assert.equal(await problemOf(find()), { kind: 'no-such-user' });
  });

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

  const refused: readonly unknown[] = [
    '',
    'ada',
    'sk-0123456789abcdef',
    `admin-${'0'.repeat(64)}`,
    '@example.com',
    'ada@',
    'ada@@example.com',
    'a@b@c',
    'ada lovelace@example.com',
    'ada@exa\u00a0mple.com',
    'ada@exam\u0000ple.com',
    'ada@\ud800example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'b'.repeat(191)}`,
    7,
    null,
    undefined,
    ['ada@example.com'],
  ];
  for (const email of refused) {
    check(`refuses ${JSON.stringify(email) ?? 'a missing address'} and sends nothing`, async () => {
      const { find, asked, tool } = among([]);
      const detail = await problemOf(email === undefined ? callTool(tool, {}) : find(email));
      assert.is(detail.kind, 'invalid-argument');
      assert.equal(asked, []);
    });
  }

  check('does not repeat a wrong argument, which may be a key', async () => {
    const { find } = among([]);
    for (const given of ['sk-0123456789abcdef', `admin-${'0'.repeat(64)}`])
      assert.not.match(JSON.stringify(await problemOf(find(given))), given.slice(0, 10));
  });

  check('refuses an argument that it does not know', async () => {
    const { tool, asked } = among([]);
    const detail = await problemOf(callTool(tool, { email: 'ada@example.com', page: 2 }));
    assert.is(detail.kind, 'invalid-argument');
    assert.equal(asked, []);
  });

  check('searches a long address by what the relay takes of it, and compares all of it', async () => {
    const long = `${'a'.repeat(64)}@${'b'.repeat(150)}.test`;
    const { find, asked } = among([user(8, `${long.slice(0, 120)}.test`), user(7, long)]);
    assert.is(((await find(long)).user as Row).id, 7);
    const search = String(asked[0]?.query.search);
    assert.is(search.length, 100);
    assert.match(search, '@');
  });

  check('counts characters and cuts none in half', async () => {
    const { find, asked } = among([]);
    const email = `ab@${'\u{1f600}'.repeat(95)}`;
    await problemOf(find(email));
    assert.is(asked[0]?.query.search, email);
  });

  check('shows what an attacker stored without anything invisible, bounded, and in fields only', async () => {
    const { find } = among([
      user(7, 'ada@example.com', { username: HOSTILE.repeat(20), status: HOSTILE, role: HOSTILE }),
    ]);
    const { user: found } = await find();
    const { username, status } = found as { username: string; status: string };
    assert.not.match(JSON.stringify(found), UNSEEN);
    assert.ok([...username].length <= 60);
    assert.ok([...status].length <= 20);
    assert.not.match(JSON.stringify(found), 'sk-canary');
  });

  check('finds no one by an e-mail that looks right only when its hidden characters are dropped', async () => {
    const { find } = among([user(8, 'ada\u202e@example.com'), user(7, 'ada@example.com')]);
    assert.is(((await find()).user as Row).id, 7);
  });

  check('passes on what the relay refuses', async () => {
    const { find } = over(() => new RelayError({ kind: 'terms-not-accepted' }));
    assert.equal(await problemOf(find()), { kind: 'terms-not-accepted' });
  });

  for (const kind of ['client-left', 'backend-timeout'] as const) {
    check(`stops reading for ${kind}`, async () => {
      const clock = createFakeClock();
      const client = new AbortController();
      const rows = others(1000);
      const { asked, tool } = over((call, index) => (index === 3 ? SILENCE : pageOf(rows, call)));
      const call = rejection(callTool(tool, { email: 'ada@example.com' }, { clock, client }));
      await clock.advance(10);
      if (kind === 'client-left') client.abort();
      else await clock.advance(30_000);
      const thrown = await call;
      assert.ok(thrown instanceof Fault);
      assert.is(thrown.detail.kind, kind);
      assert.is(asked.length, 4);
    });
  }
});
