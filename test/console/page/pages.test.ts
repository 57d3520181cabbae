import * as assert from 'uvu/assert';
import { ApiError } from '../../../src/console/page/api/request.ts';
import { createPages } from '../../../src/console/page/state/pages.ts';
import { describe } from '../../check.ts';

type Row = { readonly id: number; readonly text: string };

/** A list of numbers, ten a page, the highest first. */
const world = () => {
  let highest = 25;
  let text = 'first';
  const asked: (string | undefined)[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  let isHeld = false;
  let failure: ApiError | undefined;
  const pages = createPages<Row>({
    async fetchPage(before, signal) {
      asked.push(before);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      if (isHeld) await gate.promise;
      signal.throwIfAborted();
      if (failure !== undefined) throw failure;
      const from = before === undefined ? highest : Number(before);
      const items = Array.from({ length: Math.min(10, from) }, (_, index) => ({ id: from - index, text }));
      return { items, next: from > 10 ? String(from - 10) : undefined };
    },
    keyOf: ({ id }) => String(id),
    join: (known, added) => [...known, ...added].sort((left, right) => right.id - left.id),
  });
  const ids = () => pages.items.value?.map(({ id }) => id);
  return {
    pages,
    asked,
    gates,
    ids,
    hold: (held: boolean) => {
      isHeld = held;
    },
    fail: (error: ApiError | undefined) => {
      failure = error;
    },
    grow: (to: number, newText: string) => {
      highest = to;
      text = newText;
    },
  };
};
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: from - to + 1 }, (_, index) => from - index);

describe('a list that is loaded page by page', (check) => {
  check('grows to its end, and asks for nothing after that', async () => {
    const { pages, ids, asked } = world();
    await pages.loadFirst();
    assert.equal([ids(), pages.hasMore.value], [numbers(25, 16), true]);
    await pages.loadMore();
    await pages.loadMore();
    assert.equal([ids(), pages.hasMore.value], [numbers(25, 1), false]);
    await pages.loadMore();
    assert.equal(asked, [undefined, '15', '5']);
  });

  check('takes in what is new or has changed, and keeps what was loaded', async () => {
    const { pages, ids, grow } = world();
    await pages.loadFirst();
    await pages.loadMore();
    grow(27, 'second');
    await pages.refresh();
    assert.equal(ids(), numbers(27, 6));
    assert.equal(
      pages.items.value?.filter(({ text }) => text === 'second').map(({ id }) => id),
      numbers(27, 18),
    );
    await pages.loadMore();
    assert.equal(ids(), numbers(27, 1));
  });

  check('shows the newest search alone, and keeps its list when a call fails', async () => {
    const { pages, ids, hold, gates, grow, fail } = world();
    hold(true);
    const earlier = pages.loadFirst();
    grow(3, 'second');
    hold(false);
    await pages.loadFirst();
    gates[0]?.resolve();
    await earlier;
    assert.equal([ids(), pages.isLoading.value], [[3, 2, 1], false]);
    fail(new ApiError(503, 'away'));
    await pages.refresh();
    assert.equal([ids(), pages.failure.value?.message], [[3, 2, 1], 'away']);
    fail(undefined);
    await pages.refresh();
    assert.is(pages.failure.value, undefined);
  });
});
