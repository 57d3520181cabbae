import * as v from 'valibot';

/** An amount of the relay's credit in its smallest unit, 1e-8: the precision of the relay's own column. */
export type Units = bigint;

/** The relay's own precision. */
export const DECIMALS = 8;
const ONE = 10n ** BigInt(DECIMALS);
const FORMATTED = /^(-?)(\d{1,30})(?:\.(\d{1,8}))?$/;
const DECIMAL = /^(0|[1-9]\d{0,6})(?:\.(\d{1,8}))?$/;

/** The error message for a malformed amount. */
export const AMOUNT_RULE =
  'expected a decimal string over zero such as "12.5": at most 7 digits, then at most 8 decimals; no sign, exponent, blank or separator';

/** The units of a decimal string, also of zero; `undefined` for any other text. */
export const parseUnits = (text: string): Units | undefined => {
  const [, whole, decimals = ''] = DECIMAL.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole) * ONE + BigInt(decimals.padEnd(DECIMALS, '0'));
};

/** The units of a text that `formatUnits` wrote, of any size and sign; `undefined` for any other text. */
export const parseFormatted = (text: string): Units | undefined => {
  const [, sign, whole, decimals = ''] = FORMATTED.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const unsigned = BigInt(whole) * ONE + BigInt(decimals.padEnd(DECIMALS, '0'));
  return sign === '-' ? -unsigned : unsigned;
};

/** The units of a number from the relay, rounded to its precision; `undefined` when it is not finite. */
export const unitsFromNumber = (value: number): Units | undefined => {
  // From 1e21 on, `toFixed` writes an exponent. No balance is that large.
  if (!(Math.abs(value) < 1e21)) return undefined;
  const text = value.toFixed(DECIMALS);
  return BigInt(text.replace('.', ''));
};

/** The largest amount of which a JSON number holds every unit: 90071992.54740992. The relay shows larger ones rounded. */
export const LARGEST_EXACT: Units = 2n ** 53n;

const size = (units: Units): Units => (units < 0n ? -units : units);

/**
 * Whether two amounts are the same as far as the relay can tell, which computes with doubles: `balance` is the largest balance
 * that was part of the sum. Below 16 million this is equality; at 123456789.12 a unit or two may be lost.
 */
export const isSameAmount = (left: Units, right: Units, balance: Units): boolean => {
  // Two roundings to a double and a subtraction are less than two steps between neighbouring doubles of this size.
  const step = 2 ** (Math.floor(Math.log2(Number(size(balance)) / 10 ** DECIMALS)) - 52);
  return size(left - right) <= BigInt(Math.floor(2 * step * 10 ** DECIMALS + 0.5));
};

/** Compares for `toSorted`: the smaller first. */
export const compareUnits = (left: Units, right: Units): number => (left < right ? -1 : left > right ? 1 : 0);

/** The largest of these, whatever their signs. */
export const largestSize = (...amounts: readonly Units[]): Units => amounts.map(size).sort(compareUnits).at(-1) ?? 0n;

/** The shortest decimal text of an amount: `12.5`, `-0.00000001`. */
export const formatUnits = (units: Units): string => {
  const unsigned = size(units);
  const decimals = String(unsigned % ONE)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${unsigned / ONE}${decimals === '' ? '' : `.${decimals}`}`;
};

/** A decimal string over zero, as units. */
export const Amount = v.pipe(
  v.string(AMOUNT_RULE),
  v.regex(DECIMAL, AMOUNT_RULE),
  v.check((text) => (parseUnits(text) ?? 0n) > 0n, AMOUNT_RULE),
);
