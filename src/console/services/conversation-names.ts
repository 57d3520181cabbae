import { OWNER_WITHOUT_KEY, ownerOfKey } from '../../core/http/agent-api.ts';

/** What a bridge has stored with the session of a conversation: its name, and whose key has begun it. */
export type StoredName = { readonly name: string; readonly owner: string };

/** How chats of the console are called at the bridge. */
export type ConversationNames = {
  readonly nameOf: (account: string, id: string) => string;
  /** Whether it is the console's conversation of this name. */
  readonly isNamed: (stored: StoredName | undefined, name: string) => boolean;
  /** The id of an account's own conversation; undefined for every other one. */
  readonly idIn: (account: string, stored: StoredName | undefined) => string | undefined;
};

type ConversationNamesNeeds = {
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  readonly bridgeKey: string | undefined;
};

/**
 * Each account's names begin alike, and no id of another account leads to one. Clients of the bridge with other keys may use any name:
 * theirs are no chats of the console.
 */
export const createConversationNames = ({ digest, bridgeKey }: ConversationNamesNeeds): ConversationNames => {
  // A bridge without keys takes no notice of the console's.
  const owners = new Set([OWNER_WITHOUT_KEY, ...(bridgeKey === undefined ? [] : [ownerOfKey(bridgeKey, digest)])]);
  const startOf = (account: string): string => `console-${digest(`chat ${account}`).slice(0, 22)}-`;
  return {
    nameOf: (account, id) => `${startOf(account)}${id}`,
    isNamed: (stored, name) => stored !== undefined && stored.name === name && owners.has(stored.owner),
    idIn(account, stored) {
      const start = startOf(account);
      if (stored === undefined || !owners.has(stored.owner) || !stored.name.startsWith(start)) return undefined;
      return stored.name.slice(start.length);
    },
  };
};
