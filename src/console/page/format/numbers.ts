const locale: string | undefined = globalThis.navigator?.language;

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const compactNumber = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
const score = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const cost = new Intl.NumberFormat(locale, {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

/** Whole numbers in the reader's locale. */
export const countText = (value: number): string => whole.format(value);

/** A number in few characters: `12.4K`. */
export const compactText = (value: number): string => compactNumber.format(value);

/** A score from 0 to 1, with two decimals. */
export const scoreText = (value: number): string => score.format(value);

/** What calls of a model cost, in US dollars, as the agent's configuration states prices. */
export const costText = (value: number): string => cost.format(value);

const DECIMAL = /^-?\d{1,30}(?:\.\d{1,18})?$/;
/** `Intl` takes a decimal as a text without losing digits; the type of its parameter knows that only as a pattern. */
const isDecimal = (amount: string): amount is `${number}` => DECIMAL.test(amount);

/**
 * An amount of money, given as a decimal string so that no digit is lost, in the reader's locale. The relay's credit has no
 * currency. What is no decimal is shown as it came.
 */
export const moneyText = (amount: string, isSigned = false): string =>
  isDecimal(amount)
    ? new Intl.NumberFormat(locale, {
        minimumFractionDigits: 2,
        maximumFractionDigits: 8,
        signDisplay: isSigned ? 'exceptZero' : 'auto',
      }).format(amount)
    : amount;
