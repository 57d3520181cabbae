/** How deep objects and lists that come from outside may lie in each other. What writes them goes that deep, and has an end. */
export const NESTING_LIMIT = 64;

/** Whether something lies deeper than so many levels. Looks no further than that. */
export const isNestedBeyond = (value: unknown, levels = NESTING_LIMIT): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isNestedBeyond(part, levels - 1)));
