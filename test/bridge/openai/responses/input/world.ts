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
