const DECIMALS = 8;
const PER_ONE = 10n ** BigInt(DECIMALS);
const AMOUNT = /^(-?)(\d+)(?:\.(\d{1,8}))?$/;

/** Money as whole units of 1e-8. A number is rounded there, as the platform's column rounds; a text must be exact. */
export const unitsOf = (amount: number | string): bigint => {
  const [, sign, whole, part = ''] = AMOUNT.exec(typeof amount === 'number' ? amount.toFixed(DECIMALS) : amount) ?? [];
  if (whole === undefined) throw new RangeError('An amount has digits and at most 8 decimals');
  const units = BigInt(whole) * PER_ONE + BigInt(part.padEnd(DECIMALS, '0'));
  return sign === '-' ? -units : units;
};

/** `1.5` for 150000000 units: exact, without trailing zeros. */
export const amountText = (units: bigint): string => {
  const size = units < 0n ? -units : units;
  const part = String(size % PER_ONE)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size / PER_ONE}${part === '' ? '' : `.${part}`}`;
};

/** What the platform puts into its JSON: a double, with a double's digits (`5e-8` too). */
export const amountOf = (units: bigint): number => Number(amountText(units));
