/** How chats of the console are called at the bridge. */
export type ConversationNames = {
  readonly nameOf: (account: string, id: string) => string;
  /** The id of an account's own conversation; undefined for every other name. */
  readonly idIn: (account: string, name: string) => string | undefined;
};

/** Each account's names begin alike, and no id of another account leads to one. `digest`: SHA-256 as base64url. */
export const createConversationNames = (digest: (text: string) => string): ConversationNames => {
  const startOf = (account: string): string => `console-${digest(`chat ${account}`).slice(0, 22)}-`;
  return {
    nameOf: (account, id) => `${startOf(account)}${id}`,
    idIn: (account, name) => (name.startsWith(startOf(account)) ? name.slice(startOf(account).length) : undefined),
  };
};
