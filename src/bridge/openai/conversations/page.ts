import { invalidValue } from '../../request.ts';

/** Which part of a list a client asks for. */
export type PageQuery = {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the item before the page, in its order. */
  readonly after: string | undefined;
};

const DEFAULT_LIMIT = 20;
const MOST = 100;

/** Reads `limit`, `order` and `after` of a list's URL, as OpenAI has them. `include` asks for nothing that is left out here. */
export const parsePageQuery = ({ url }: Request): PageQuery => {
  const { searchParams } = new URL(url);
  const limit = searchParams.get('limit') ?? String(DEFAULT_LIMIT);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST)
    throw invalidValue('limit', `expected a whole number from 1 to ${MOST}`);
  const order = searchParams.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw invalidValue('order', 'expected asc or desc');
  return { limit: Number(limit), order, after: searchParams.get('after') ?? undefined };
};

/** A page of items, which come in the order in which they were made. Faults with `bad-input` where there is no item `after`. */
export const toItemPage = <Item extends { readonly id: string }>(
  items: readonly Item[],
  { limit, order, after }: PageQuery,
) => {
  const ordered = order === 'asc' ? items : items.toReversed();
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && before === -1) throw invalidValue('after', 'there is no item with this id');
  const data = ordered.slice(before + 1, before + 1 + limit);
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < ordered.length,
  };
};
