import { isRecord } from '../../core/record.ts';

/** A later source over an earlier one, name by name. Lists are replaced, but for `instructions`, which are joined. */
export const mergedOver = (base: unknown, over: unknown, name?: string): unknown => {
  if (Array.isArray(base) && Array.isArray(over) && name === 'instructions') return [...new Set([...base, ...over])];
  if (!isRecord(over)) return over;
  // One action for all is the rule that narrower ones refine: it must not vanish behind the first of them.
  const under = name === 'permission' && typeof base === 'string' ? { '*': base } : base;
  if (!isRecord(under)) return over;
  const isPermission = name === 'permission';
  return {
    ...under,
    ...Object.fromEntries(
      Object.entries(over).map(([key, value]) => [
        key,
        Object.hasOwn(under, key) ? mergedOver(under[key], value, isPermission ? 'permission' : key) : value,
      ]),
    ),
  };
};
