import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { SILENCE } from '../../harness/scripted-relay.ts';
import { createWorld, refusalOf, resultOf } from '../../harness/world.ts';
import { assertWellDescribed, callTool, HOSTILE, problemOf, UNSEEN } from '../tool-calls.ts';
import { among, others, over, pageOf, type Row, user } from './world.ts';

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
