import type { Json } from './project.ts';

/** `itemsLeft`: the most items that any list still has; `undefined` when no list was cut. */
type SizeLimited = { readonly data: Json; readonly isCut: boolean; readonly itemsLeft: number | undefined };

type Limits = { readonly items: number; readonly chars: number; readonly names: number };

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

const shorten = (value: Json, limits: Limits): Json => {
  if (typeof value === 'string') return shortenText(value, limits.chars);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.slice(0, limits.items).map((item) => shorten(item, limits));
  const parts = Object.entries(value);
  const most = parts.length > MOST_FIELDS ? Math.min(limits.items, limits.names) : limits.names;
  return Object.fromEntries(parts.slice(0, most).map(([name, part]) => [name, shorten(part, limits)]));
};

const bytesOf = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length;

/** The data in at most `limitBytes` of JSON: whole, or with as many items of every list as fit. Deterministic. */
export const limitSize = (whole: Json, limitBytes: number): SizeLimited => {
  if (bytesOf(whole) <= limitBytes) return { data: whole, isCut: false, itemsLeft: undefined };
  // Only this step works on all of the data. A map that it cuts still has more fields than a record.
  const start = shorten(whole, FIRST);
  for (const limits of STEPS) {
    const data = shorten(start, limits);
    if (bytesOf(data) <= limitBytes) return { data, isCut: true, itemsLeft: limits.items };
  }
  return { data: null, isCut: true, itemsLeft: 0 };
};
