/** A request to the guard face. */
export const chat = (...messages: readonly unknown[]) => ({ model: 'qwen3guard', messages });
/** A message of the user. */
export const user = (content: unknown) => ({ role: 'user', content });

/** A message of an assistant that called a tool. */
export const called = (name: string, given: unknown) => ({
  id: 'call_1',
  type: 'function',
  function: { name, arguments: given },
});
