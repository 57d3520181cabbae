import * as v from 'valibot';
import type { RelayClient, RelayQuery } from './client.ts';
import { parseAnswer } from './response.ts';

/** How many rows are requested per page. */
export const PAGE_SIZE = 100;

/** The most that the relay itself ever puts on a page: an answer with more rows is not its own. */
const MAX_ROWS = 1000;

/** A list without rows may come as null. */
const Page = v.object({
  items: v.nullish(v.pipe(v.array(v.unknown()), v.maxLength(MAX_ROWS)), []),
  total: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});

/** One page of a list of the relay, with its rows as received. `total` counts the rows of all pages. */
export type ListPage = { readonly items: readonly unknown[]; readonly total: number };

/** Reads one page of a list, from 1. Throws `upstream-contract` when the answer is not a page. */
export const readPage = async (
  relay: RelayClient,
  { path, query, page }: { readonly path: string; readonly query: RelayQuery; readonly page: number },
  signal: AbortSignal,
): Promise<ListPage> => {
  const answer = await relay.get(path, { ...query, page, page_size: PAGE_SIZE }, signal);
  return parseAnswer(Page, answer);
};
