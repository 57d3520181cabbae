import type { IdKind, Ids } from '../protocol/ids.ts';
import type { Message, Part, Session } from '../protocol/types.ts';

import type { DocumentContents, DocumentRecord } from './document.ts';

type ReplaceID = (id: string) => string;

/** Replaces each old id by a new one; the new ids have the order of the old. Any other text stays as it is. */
const createReplaceID = (olds: readonly string[], kind: IdKind, ids: Ids): ReplaceID => {
  // Ids of sessions descend, all others ascend: sorted, each new id takes the position of an old one.
  const fresh = olds.map(() => ids(kind)).sort();
  const newFor = new Map([...olds].sort().map((old, index) => [old, fresh[index] ?? old]));
  return (id) => newFor.get(id) ?? id;
};

/** A part of the `task` tool refers to the session of the task. */
const replaceTaskSession = (part: Part, session: ReplaceID): Part => {
  if (part.type !== 'tool' || part.state.status === 'pending') return part;
  const { state } = part;
  const taskID = state.metadata?.sessionId;
  if (typeof taskID !== 'string') return part;
  return { ...part, state: { ...state, metadata: { ...state.metadata, sessionId: session(taskID) } } };
};

/** The files among a tool's result have ids of their own, and the place of their part. */
const placeAttachments = (part: Part, ids: Ids): Part => {
  if (part.type !== 'tool' || part.state.status !== 'completed' || part.state.attachments === undefined) return part;
  const { sessionID, messageID } = part;
  const attachments = part.state.attachments.map((file) => ({ ...file, id: ids('part'), sessionID, messageID }));
  return { ...part, state: { ...part.state, attachments } };
};

/**
 * Gives the records of a document new ids with the same order and the same references. To be called in the order of the
 * document. Parts are ordered within their message only.
 */
export const createIDReplacement = (
  { sessions }: Pick<DocumentContents, 'sessions'>,
  ids: Ids,
): ((record: DocumentRecord) => DocumentRecord) => {
  const session = createReplaceID(
    sessions.map(({ id }) => id),
    'session',
    ids,
  );
  const message = createReplaceID(
    sessions.flatMap(({ messages }) => messages),
    'message',
    ids,
  );
  let parts = new Map<string, string>();
  const sessionOf = ({ revert, awaitedCalls: _, ...info }: Session): Session => ({
    ...info,
    id: session(info.id),
    ...(info.parentID === undefined ? {} : { parentID: session(info.parentID) }),
    // The part's new id is not known yet. Without it more would be reverted than was meant, so nothing is.
    ...(revert === undefined || revert.partID !== undefined
      ? {}
      : { revert: { messageID: message(revert.messageID) } }),
  });
  const messageOf = (info: Message): Message => {
    parts = new Map();
    const placed = { id: message(info.id), sessionID: session(info.sessionID) };
    return info.role === 'user' ? { ...info, ...placed } : { ...info, ...placed, parentID: message(info.parentID) };
  };
  const partOf = (part: Part): Part => {
    const id = ids('part');
    parts.set(part.id, id);
    const placed = { id, sessionID: session(part.sessionID), messageID: message(part.messageID) };
    return placeAttachments({ ...replaceTaskSession(part, session), ...placed }, ids);
  };
  return (record) => {
    switch (record.kind) {
      case 'session':
        return { ...record, session: sessionOf(record.session) };
      case 'message':
        return { ...record, message: messageOf(record.message) };
      case 'part':
        return { ...record, part: partOf(record.part) };
      case 'output':
        return { ...record, partID: parts.get(record.partID) ?? record.partID };
      default:
        return record satisfies never;
    }
  };
};
