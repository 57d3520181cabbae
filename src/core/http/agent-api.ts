// What the agent server, the bridge and the console know of each other beyond the schemas of the API.

/** The member of a session's metadata that says which conversation has it: `name`, and the `owner` of that. */
export const GATEHOUSE_METADATA_KEY = 'gatehouse';

/** The owner of conversations where the bridge has no keys. */
export const OWNER_WITHOUT_KEY = 'anyone';

const OWNER_CHARS = 16;

/**
 * The owner of the conversations of a bridge's key. A digest, because the agent stores it; with a prefix, so that it matches no digest
 * of the key elsewhere. `digest`: SHA-256 as base64url.
 */
export const ownerOfKey = (key: string, digest: (text: string) => string): string =>
  digest(`gatehouse bridge ${key}`).slice(0, OWNER_CHARS);

/**
 * The message of the error of an answer whose agent server stopped before its end, in the agent's API. By it a client tells such an
 * answer from one that a person has aborted: OpenCode's API has one name for both.
 */
export const ANSWER_CUT_OFF_TEXT = 'The agent server stopped before this answer was complete';
