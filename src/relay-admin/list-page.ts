import * as v from 'valibot';
import { Problem } from './errors.ts';
import type { Query, Relay } from './relay/client.ts';

/** How many rows are asked for at a time. */
export const PAGE_SIZE = 100;

/** The most that the relay itself would ever put on a page: more is not its answer. */
const MOST_ROWS = 1000;

/** A list without a row may come as null. */
const Page = v.object({
  items: v.nullish(v.pipe(v.array(v.unknown()), v.maxLength(MOST_ROWS)), []),
  total: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});

/** One page of a list of the relay's; its rows are as they came. */
export type ListPage = { readonly items: readonly unknown[]; readonly total: number };

/** Reads the page of a list that the query names. Throws the `upstream-contract` problem when it is none. */
export const readPage = async (
  relay: Relay,
  { path, query, page }: { readonly path: string; readonly query: Query; readonly page: number },
  signal: AbortSignal,
): Promise<ListPage> => {
  const answer = await relay.get(path, { ...query, page, page_size: PAGE_SIZE }, signal);
  const parsed = v.safeParse(Page, answer);
  if (!parsed.success) throw new Problem({ kind: 'upstream-contract', why: 'not-the-shape' });
  return parsed.output;
};
