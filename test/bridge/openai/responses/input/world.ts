import { parseInput } from '../../../../../src/bridge/openai/responses/input.ts';

/** What is read from an input. */
export const read = (input: unknown) => {
  const { dialogue, ...references } = parseInput(input);
  return { ...dialogue, ...references };
};
/** A message of the user. */
export const user = (content: unknown) => ({ role: 'user', content });
/** A message of the assistant. */
export const assistant = (content: unknown, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content,
  ...more,
});
/** A content of one text. */
export const words = (text: string) => [{ type: 'text', text }];
