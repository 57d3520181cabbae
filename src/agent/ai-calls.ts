import type { ChatEvent } from './model/types.ts';

/** A tool call that the SDK has read to its end. `input` is what it made of the arguments: their text where it failed. */
export type EndedCall = { readonly id: string; readonly name: string; readonly input: unknown };

const NOTHING = /^\s*$/;

const inputIn = (raw: string): unknown => {
  // Many models say nothing where a tool takes no arguments.
  if (NOTHING.test(raw)) return {};
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
};

const rawOf = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''));

/** Follows the tool calls of one answer. Arguments are read here, so that nobody repairs them on the way. */
export const createCalls = () => {
  const begun = new Map<string, string>();
  let count = 0;
  const begin = (id: string, name: string): readonly ChatEvent[] => {
    if (begun.has(id)) return [];
    begun.set(id, '');
    return [{ kind: 'call-begun', id, name }];
  };
  return {
    count: () => count,
    begin,
    add: (id: string, delta: string): void => void begun.set(id, (begun.get(id) ?? '') + delta),
    end({ id, name, input }: EndedCall): readonly ChatEvent[] {
      const beginning = begin(id, name);
      // Some backends send the arguments only with the end of the call.
      const raw = begun.get(id) || rawOf(input);
      count += 1;
      return [...beginning, { kind: 'call', id, name, input: inputIn(raw), raw }];
    },
  };
};
