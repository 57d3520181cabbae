import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { findCredits } from '../../../src/relay-admin/relay/history.ts';
import { describe, rejection } from '../../check.ts';
import { createScriptedRelay, historyRow } from '../harness/scripted-relay.ts';

const NEVER = new AbortController().signal;
const MARKER = 'rc_0123456789abcdef';
const OTHER = 'rc_fedcba9876543210';
const ONE = 100_000_000n;

type Row = ReturnType<typeof historyRow>;
const marked = (id: number, more: Readonly<Record<string, unknown>> = {}): Row =>
  historyRow(id, { notes: `recharge ${MARKER}`, ...more });

/** Looks for markers in a history that the relay gives in pages of a hundred. */
const lookThrough = async (rows: readonly unknown[], markers: readonly string[] = [MARKER], total = rows.length) => {
  const { relay, asked: reads } = createScriptedRelay(({ query }) => {
    const page = Number(query.page);
    return {
      items: rows.slice((page - 1) * 100, page * 100),
      total,
      page,
      page_size: 100,
      pages: 1,
      total_recharged: 0,
    };
  });
  const found = await findCredits(relay, { userId: 7, markers }, NEVER);
  return { found, rows: found.get(MARKER), reads };
};
const unknownNames = (count: number): Row[] => Array.from({ length: count }, (_, index) => historyRow(index + 1000));

describe("a user's balance history", (check) => {
  check('is asked for credits by an administrator alone, newest first, a hundred at a time', async () => {
    const { reads } = await lookThrough([]);
    assert.equal(
      reads.map(({ path, query }) => [path, query]),
      [['users/7/balance-history', { type: 'admin_balance', page: 1, page_size: 100 }]],
    );
  });

  check('without the marker has no row for it, and says so', async () => {
    for (const rows of [[], unknownNames(3)]) assert.equal((await lookThrough(rows)).rows, []);
  });

  check('gives of a row its id, its value in units and its time, and nothing else', async () => {
    assert.equal((await lookThrough([marked(5)])).rows, [
      { id: 5, value: 1_250_000_000n, usedAt: '2026-01-01T00:00:00Z' },
    ]);
  });

  check('knows a row by the marker wherever it stands in the notes', async () => {
    for (const notes of [MARKER, `recharge ${MARKER}`, `${MARKER} by mail`, `a\n${MARKER}\nb`])
      assert.is((await lookThrough([marked(5, { notes })])).rows?.length, 1, notes);
    for (const notes of [
      null,
      undefined,
      '',
      MARKER.toUpperCase(),
      MARKER.slice(0, -1),
      `rc_ ${MARKER.slice(3)}`,
      OTHER,
    ])
      assert.is((await lookThrough([marked(5, { notes })])).rows?.length, 0, String(notes));
  });

  check('counts a row of another type for nothing, though it says the marker', async () => {
    for (const type of ['balance', 'affiliate_balance', 'admin_concurrency', 'subscription', '', 'ADMIN_BALANCE'])
      assert.equal((await lookThrough([marked(5, { type })])).rows, [], type);
  });

  check('reports every row with the marker, in its order', async () => {
    const { rows } = await lookThrough([marked(9), historyRow(8), marked(7, { value: 1 })]);
    assert.equal(
      rows?.map(({ id, value }) => [id, value]),
      [
        [9, 1_250_000_000n],
        [7, ONE],
      ],
    );
  });

  check('keeps markers apart', async () => {
    const { found } = await lookThrough(
      [marked(5), historyRow(6, { notes: `recharge ${OTHER}`, value: -1 })],
      [OTHER, MARKER, 'rc_0000000000000000'],
    );
    assert.equal(
      [...found].map(([marker, rows]) => [marker, rows.map(({ id, value }) => [id, value])]),
      [
        [OTHER, [[6, -ONE]]],
        [MARKER, [[5, 1_250_000_000n]]],
        ['rc_0000000000000000', []],
      ],
    );
  });

  check('rounds a value to the precision that the relay has', async () => {
    for (const [value, units] of [
      [0.1 + 0.2, 30_000_000n],
      [1e-8, 1n],
      [-12.5, -1_250_000_000n],
      [0, 0n],
      [1_000_000.12345678, 100_000_012_345_678n],
    ] as const)
      assert.is((await lookThrough([marked(5, { value })])).rows?.[0]?.value, units);
  });

  check('may have no time, and shows none that is text of somebody else’s', async () => {
    for (const used_at of [null, undefined])
      assert.is((await lookThrough([marked(5, { used_at })])).rows?.[0]?.usedAt, null);
    const hostile = `2026\u202e\u200b\n<b>${'x'.repeat(500)}`;
    const shown = (await lookThrough([marked(5, { used_at: hostile })])).rows?.[0]?.usedAt ?? '';
    assert.ok(shown.length <= 40);
    assert.not.match(shown, /[\u202e\u200b\n]/);
  });
});

describe('a long balance history', (check) => {
  check('is read on until the marker is found, and no further', async () => {
    const rows = [...unknownNames(250), marked(5), ...unknownNames(500)];
    const { rows: found, reads } = await lookThrough(rows);
    assert.is(found?.length, 1);
    assert.equal(
      reads.map(({ query }) => query.page),
      [1, 2, 3],
    );
  });

  check('is read on until all of the markers are found', async () => {
    const rows = [marked(5), ...unknownNames(150), historyRow(6, { notes: OTHER }), ...unknownNames(500)];
    const { found, reads } = await lookThrough(rows, [MARKER, OTHER]);
    assert.equal(
      [...found.values()].map((one) => one.length),
      [1, 1],
    );
    assert.is(reads.length, 2);
  });

  check('is read to its end for a marker that is not there, and no page more', async () => {
    for (const [count, pages] of [
      [0, 1],
      [99, 1],
      [100, 1],
      [101, 2],
      [200, 2],
      [201, 3],
    ] as const)
      assert.is((await lookThrough(unknownNames(count))).reads.length, pages, String(count));
  });

  check('is read for a thousand rows at most', async () => {
    const { reads, rows } = await lookThrough([...unknownNames(1000), marked(5)]);
    assert.is(reads.length, 10);
    assert.equal(rows, []);
    assert.is((await lookThrough([...unknownNames(999), marked(5)])).rows?.length, 1);
  });

  check('that says it has more than it gives ends with the first empty page', async () => {
    const { reads } = await lookThrough(unknownNames(100), [MARKER], 1_000_000);
    assert.is(reads.length, 2);
  });

  check('is read no further once the caller has left', async () => {
    const caller = new AbortController();
    const reason = new Error('left');
    const { relay, asked: reads } = createScriptedRelay(() => {
      caller.abort(reason);
      return { items: unknownNames(100), total: 500 };
    });
    const error = await rejection(findCredits(relay, { userId: 7, markers: [MARKER] }, caller.signal));
    assert.is(error, reason);
    assert.is(reads.length, 1);
  });
});

describe('what is no balance history', (check) => {
  const SHAPES: readonly unknown[] = [
    undefined,
    null,
    [],
    'items',
    {},
    { items: [] },
    { items: {}, total: 0 },
    { items: [], total: '0' },
    { items: [], total: -1 },
    { items: [], total: 0.5 },
    { items: unknownNames(1001), total: 1001 },
    { items: [null], total: 1 },
    { items: [{}], total: 1 },
    { items: [marked(5, { value: '12.5' })], total: 1 },
    { items: [marked(5, { value: null })], total: 1 },
    { items: [marked(5, { value: Number.POSITIVE_INFINITY })], total: 1 },
    { items: [marked(5, { id: 'five' })], total: 1 },
    { items: [marked(5, { id: 5.5 })], total: 1 },
    { items: [marked(5, { id: Number.POSITIVE_INFINITY })], total: 1 },
    { items: [marked(5, { type: null })], total: 1 },
    { items: [marked(5, { notes: ['x'] })], total: 1 },
    { items: [marked(5), 'x'], total: 2 },
  ];
  for (const [index, shape] of SHAPES.entries()) {
    check(`is a problem and not an empty one (shape ${index})`, async () => {
      const { relay, asked: reads } = createScriptedRelay(() => shape);
      const error = await rejection(findCredits(relay, { userId: 7, markers: [MARKER] }, NEVER));
      assert.instance(error, RelayError);
      assert.equal((error as RelayError).detail, { kind: 'upstream-contract', why: 'unexpected-shape' });
      assert.is(reads.length, 1);
    });
  }

  check('is not a list without rows that came as null', async () => {
    for (const items of [null, undefined]) {
      const { relay } = createScriptedRelay(() => ({ items, total: 0 }));
      const found = await findCredits(relay, { userId: 7, markers: [MARKER] }, NEVER);
      assert.equal(found.get(MARKER), []);
    }
  });

  check('passes on the problem of the read', async () => {
    const problem = new RelayError({ kind: 'upstream-auth' });
    const { relay } = createScriptedRelay(() => {
      throw problem;
    });
    assert.is(await rejection(findCredits(relay, { userId: 7, markers: [MARKER] }, NEVER)), problem);
  });
});
