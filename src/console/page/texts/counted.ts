const plural = new Intl.PluralRules('en');

/** A number with its noun: `1 request`, `2 requests`. */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${plural.select(count) === 'one' ? one : many}`;
