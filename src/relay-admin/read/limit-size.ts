import type { Json } from './project.ts';

/** `itemsLeft`: the most items that any list still has; `undefined` when no list was cut. */
type SizeLimited = { readonly data: Json; readonly isCut: boolean; readonly itemsLeft: number | undefined };

type Limits = { readonly items: number; readonly chars: number; readonly names: number };
/** Where a list is cut. */
type Cut = 'end' | 'beginning of times';

/** An object with more fields than any record of the relay is a map, and is cut like a list. */
const MOST_FIELDS = 64;
const ALL = Number.POSITIVE_INFINITY;

const FIRST: Limits = { items: 100, chars: ALL, names: ALL };
/** From the smallest loss to the greatest. */
const STEPS: readonly Limits[] = [
  ...[100, 50, 20, 10, 5, 2, 1].map((items) => ({ items, chars: ALL, names: ALL })),
  ...[100, 40, 16].map((chars) => ({ items: 1, chars, names: ALL })),
  ...[32, 16, 8, 4, 2, 1].map((names) => ({ items: 1, chars: 16, names })),
];

const shortenText = (text: string, chars: number): string => {
  if (text.length <= chars) return text;
  const points = [...text];
  return points.length <= chars ? text : `${points.slice(0, chars - 1).join('')}…`;
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const TIME = /^\d{4}-\d\d-\d\d/;

/** The times in an item, by name. They sort as texts, because the relay writes them in one form. */
const timesOf = (item: Json | undefined): readonly (readonly [string, string])[] =>
  typeof item !== 'object' || item === null || isList(item)
    ? []
    : Object.entries(item).flatMap(([name, value]) =>
        typeof value === 'string' && TIME.test(value) ? [[name, value] as const] : [],
      );

/** Whether a list is ordered by time with the newest at the end, by the first time that its items have. */
const isAscending = (items: readonly Json[]): boolean => {
  const [first] = timesOf(items[0]);
  if (first === undefined) return false;
  const [name, start] = first;
  const end = timesOf(items.at(-1)).find(([other]) => other === name)?.[1];
  return end !== undefined && start < end;
};

const shorten = (value: Json, limits: Limits, cut: Cut): Json => {
  if (typeof value === 'string') return shortenText(value, limits.chars);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) {
    const kept = cut === 'end' || !isAscending(value) ? value.slice(0, limits.items) : value.slice(-limits.items);
    return kept.map((item) => shorten(item, limits, cut));
  }
  const parts = Object.entries(value);
  const most = parts.length > MOST_FIELDS ? Math.min(limits.items, limits.names) : limits.names;
  return Object.fromEntries(parts.slice(0, most).map(([name, part]) => [name, shorten(part, limits, cut)]));
};

const bytesOf = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length;

/**
 * The data in at most `limitBytes` of JSON: whole, or with as many items of every list as fit. Lists are cut at their end;
 * with `keepsNewest` those that are ordered by time, the newest last, are cut at their beginning. Deterministic.
 */
export const limitSize = (whole: Json, limitBytes: number, keepsNewest = false): SizeLimited => {
  const cut = keepsNewest ? 'beginning of times' : 'end';
  if (bytesOf(whole) <= limitBytes) return { data: whole, isCut: false, itemsLeft: undefined };
  // Only this step works on all of the data. A map that it cuts still has more fields than a record.
  const start = shorten(whole, FIRST, cut);
  for (const limits of STEPS) {
    const data = shorten(start, limits, cut);
    if (bytesOf(data) <= limitBytes) return { data, isCut: true, itemsLeft: limits.items };
  }
  return { data: null, isCut: true, itemsLeft: 0 };
};
