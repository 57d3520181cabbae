/**
 * Writes a value as JSON and remembers the last one: the policy and its schema are kilobytes that stay the same from
 * call to call, and writing them out again would cost more than all the rest of a call.
 */
export const createJsonMemo = <T>(): ((value: T) => string) => {
  let last: { readonly value: T; readonly text: string } | undefined;
  return (value) => {
    if (last === undefined || last.value !== value) last = { value, text: JSON.stringify(value) };
    return last.text;
  };
};
