import { type Signal, signal } from '@preact/signals';
import { createLoader, type Loader } from './resource.ts';

/** One page of a list, and the cursor of the next one. */
export type Page<Item> = { readonly items: readonly Item[]; readonly next?: string | undefined };

/** A list that is loaded page by page. */
export type Pages<Item> = Omit<Loader, 'run'> & {
  readonly items: Signal<readonly Item[] | undefined>;
  readonly hasMore: Signal<boolean>;
  /** Loads the first page again. A later call ends an earlier one. Never rejects, as the next. */
  readonly loadFirst: () => Promise<void>;
  /** Adds the next page. */
  readonly loadMore: () => Promise<void>;
  /** Loads the first page and puts what is new or changed into the list. */
  readonly refresh: () => Promise<void>;
};

type PagesNeeds<Item> = {
  readonly fetchPage: (before: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;
  readonly keyOf: (item: Item) => string;
  /** Joins the list with items that are not in it yet, in the order in which they are shown. */
  readonly join: (known: readonly Item[], added: readonly Item[]) => readonly Item[];
};

/** Creates the list. Nothing is fetched before it is loaded. */
export const createPages = <Item>({ fetchPage, keyOf, join }: PagesNeeds<Item>): Pages<Item> => {
  const { run, ...loader } = createLoader();
  const items = signal<readonly Item[] | undefined>(undefined);
  const hasMore = signal(false);
  let next: string | undefined;
  const load = (before: string | undefined, take: (page: Page<Item>) => void): Promise<void> =>
    run((abort) => fetchPage(before, abort), take);
  const setNext = (cursor: string | undefined): void => {
    next = cursor;
    hasMore.value = cursor !== undefined;
  };
  const merge = (page: Page<Item>): void => {
    const fresh = new Map(page.items.map((item) => [keyOf(item), item]));
    const known = (items.value ?? []).map((item) => fresh.get(keyOf(item)) ?? item);
    const keys = new Set(known.map(keyOf));
    items.value = join(
      known,
      page.items.filter((item) => !keys.has(keyOf(item))),
    );
  };
  return {
    ...loader,
    items,
    hasMore,
    loadFirst: () =>
      load(undefined, (page) => {
        items.value = join([], page.items);
        setNext(page.next);
      }),
    async loadMore() {
      if (next === undefined || loader.isLoading.value) return;
      await load(next, (page) => {
        merge(page);
        setNext(page.next);
      });
    },
    refresh: () =>
      load(undefined, (page) => {
        if (items.value === undefined) setNext(page.next);
        merge(page);
      }),
  };
};
