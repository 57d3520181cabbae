import { Fault } from '../fault.ts';
import { isRecord } from '../json.ts';

/**
 * A header of `PATCH /session/{id}` and `POST /session/{id}/message` at our agent server: it is done only if the session's metadata has
 * this revision, else the answer is 409. An answer of success carries the header again, so that a client knows that it was observed.
 */
export const IF_REVISION_HEADER = 'x-gatehouse-if-revision';

/** The member of a session's metadata that bridges write. */
export const BRIDGE_METADATA_KEY = 'gatehouse';

/** The `owner` in it where the bridge has no keys. */
export const OWNER_WITHOUT_KEY = 'anyone';

const OWNER_CHARS = 16;

/**
 * The `owner` in it: whose key has begun the conversation. A digest, because the agent stores it; with a prefix, so that it matches no
 * digest of the key elsewhere. `digest`: SHA-256 as base64url.
 */
export const ownerOfKey = (key: string, digest: (text: string) => string): string =>
  digest(`gatehouse bridge ${key}`).slice(0, OWNER_CHARS);

/** How often the bridges have written a session's metadata: `gatehouse.revision` in it, 0 if there is none. */
export const metadataRevision = (metadata: Readonly<Record<string, unknown>> | undefined): number => {
  const ours = metadata?.[BRIDGE_METADATA_KEY];
  const revision = isRecord(ours) ? ours.revision : undefined;
  return Number.isSafeInteger(revision) ? Math.max(0, Number(revision)) : 0;
};

/**
 * Bridges change one session's metadata at a time: each change is made on top of what the others have written. A `conflict` where the
 * metadata has another revision than the header names; null is any.
 */
export const requireRevision = (
  wanted: string | null,
  metadata: Readonly<Record<string, unknown>> | undefined,
): void => {
  if (wanted === null || wanted === String(metadataRevision(metadata))) return;
  const message = `${IF_REVISION_HEADER}: the metadata has another revision: read the session, and change that`;
  throw new Fault({ kind: 'conflict', message, code: 'revision_changed' });
};

/**
 * The feature of our agent server by which a prompt may bring metadata of its session, to be stored in the same commit, and its parts
 * metadata of their own, which are stored with them.
 */
export const PROMPT_METADATA_FEATURE = 'prompt-metadata';
