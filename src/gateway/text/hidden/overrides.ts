// From a right-to-left or left-to-right override to whatever ends its effect.
const OVERRIDE = /([\u202d\u202e])([^\u202a-\u202e\u2069\n\r\u2029]+)/g;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** Text that direction overrides show backwards, as it is shown. An override that changes nothing hides nothing. */
export const overrides = (text: string): string =>
  text.replace(OVERRIDE, (whole, override: string, shown: string) =>
    (override === '\u202d') === RIGHT_TO_LEFT.test(shown) ? [...shown].reverse().join('') : whole,
  );
