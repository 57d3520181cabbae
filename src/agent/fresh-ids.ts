import type { IdKind, Ids } from './ids.ts';
import type { Message } from './message.ts';
import type { Part } from './part.ts';
import type { Session } from './session.ts';
import type { KeptMessage, SessionDocument } from './session-document.ts';

type Renamed = (id: string) => string;

/** New ids in the order of the old ones. What is none of the old ones stays as it is. */
const renamer = (olds: readonly string[], kind: IdKind, ids: Ids): Renamed => {
  // Ids of sessions descend, all others ascend: sorted, both stand as the old ones do.
  const fresh = olds.map(() => ids(kind)).sort();
  const newFor = new Map([...olds].sort().map((old, index) => [old, fresh[index] ?? old]));
  return (id) => newFor.get(id) ?? id;
};

/** A part of the tool that hands work on names the session which that work was done in. */
const withTaskOf = (part: Part, session: Renamed): Part => {
  if (part.type !== 'tool' || part.state.status === 'pending') return part;
  const { state } = part;
  const taskID = state.metadata?.sessionId;
  if (typeof taskID !== 'string') return part;
  return { ...part, state: { ...state, metadata: { ...state.metadata, sessionId: session(taskID) } } };
};

/** The same sessions under new ids, in the same order and with the same references to each other. */
export const withFreshIds = (document: SessionDocument, ids: Ids): SessionDocument => {
  const { sessions } = document;
  const messages = sessions.flatMap((kept) => kept.messages);
  const session = renamer(
    sessions.map(({ info }) => info.id),
    'session',
    ids,
  );
  const message = renamer(
    messages.map(({ info }) => info.id),
    'message',
    ids,
  );
  const part = renamer(
    messages.flatMap(({ parts }) => parts.map(({ id }) => id)),
    'part',
    ids,
  );
  const sessionOf = (info: Session): Session => ({
    ...info,
    id: session(info.id),
    ...(info.parentID === undefined ? {} : { parentID: session(info.parentID) }),
  });
  const messageOf = (info: Message): Message => {
    const placed = { id: message(info.id), sessionID: session(info.sessionID) };
    return info.role === 'user' ? { ...info, ...placed } : { ...info, ...placed, parentID: message(info.parentID) };
  };
  const partOf = (held: Part): Part => ({
    ...withTaskOf(held, session),
    id: part(held.id),
    sessionID: session(held.sessionID),
    messageID: message(held.messageID),
  });
  const keptOf = ({ info, parts, outputs }: KeptMessage): KeptMessage => ({
    info: messageOf(info),
    parts: parts.map(partOf),
    outputs: outputs.map(({ partID, text }) => ({ partID: part(partID), text })),
  });
  return {
    ...document,
    sessions: sessions.map((kept) => ({ info: sessionOf(kept.info), messages: kept.messages.map(keptOf) })),
  };
};
