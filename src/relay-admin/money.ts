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
  const size = BigInt(whole) * ONE + BigInt(decimals.padEnd(DECIMALS, '0'));
  return sign === '-' ? -size : size;
};

/** The units of a number from the relay, rounded to its precision; `undefined` when it is not finite. */
export const unitsFromNumber = (value: number): Units | undefined => {
  // From 1e21 on, `toFixed` writes an exponent. No balance is that large.
  if (!(Math.abs(value) < 1e21)) return undefined;
  const text = value.toFixed(DECIMALS);
  return BigInt(text.replace('.', ''));
};

/** The shortest decimal text of an amount: `12.5`, `-0.00000001`. */
export const formatUnits = (units: Units): string => {
  const size = units < 0n ? -units : units;
  const decimals = String(size % ONE)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size / ONE}${decimals === '' ? '' : `.${decimals}`}`;
};

/** A decimal string over zero, as units. */
export const Amount = v.pipe(
  v.string(AMOUNT_RULE),
  v.regex(DECIMAL, AMOUNT_RULE),
  v.check((text) => (parseUnits(text) ?? 0n) > 0n, AMOUNT_RULE),
);
