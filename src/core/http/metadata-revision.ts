import { isRecord } from '../json.ts';

/**
 * A header of `PATCH /session/{id}` at our agent server: the change is made only if the session's metadata has this revision,
 * else the answer is 409. An answer of success carries the header again, so that a client knows that it was observed.
 */
export const IF_REVISION_HEADER = 'x-gatehouse-if-revision';

/** The member of a session's metadata that bridges write. */
export const BRIDGE_METADATA_KEY = 'gatehouse';

/** How often the bridges have written a session's metadata: `gatehouse.revision` in it, 0 if there is none. */
export const metadataRevision = (metadata: Readonly<Record<string, unknown>> | undefined): number => {
  const ours = metadata?.[BRIDGE_METADATA_KEY];
  const revision = isRecord(ours) ? ours.revision : undefined;
  return Number.isSafeInteger(revision) ? Math.max(0, Number(revision)) : 0;
};
