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

/** What a provider signs of its model's thinking: base64 of bytes that say nothing. */
export const SIGNATURE =
  'CiQBVKhc7nB0rQJ8eYx1Kp3ZbW5sD2gTfVQ9mXo6LrEaHuNq4wRkAW0BcjF7Yt2PzGv5SdIe8OyCxUb3MhKl+JnT/Q1gD4fZsVw6Xa0RqEoB9LpYi7uHkNc2Tm5WvGjAb8Q=';
