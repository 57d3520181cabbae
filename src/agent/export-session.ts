import type { Session } from './session.ts';
import {
  FORMAT,
  FORMAT_VERSION,
  type KeptMessage,
  type KeptSession,
  type SessionDocument,
} from './session-document.ts';
import type { Store, Told } from './store.ts';

/** What an export reads. It is as much of one moment as the source is: a snapshot, or what is read one after the other. */
export type SessionSource = Pick<Store, 'session' | 'sessions' | 'messages' | 'output'>;

const keptMessage = async (source: SessionSource, { info, parts }: Told): Promise<KeptMessage> => {
  const outputs: KeptMessage['outputs'] = [];
  for (const { id } of parts) {
    const text = await source.output(info.sessionID, id);
    if (text !== undefined) outputs.push({ partID: id, text });
  }
  return { info, parts: [...parts], outputs };
};

const keptSession = async (source: SessionSource, info: Session): Promise<KeptSession> => {
  const messages: KeptMessage[] = [];
  for (const told of await source.messages(info.id)) messages.push(await keptMessage(source, told));
  return { info, messages };
};

/** A session with all that belongs to it, and with the sessions under it. Nothing when there is no such session. */
export const exportSession = async (source: SessionSource, id: string): Promise<SessionDocument | undefined> => {
  const first = await source.session(id);
  if (first === undefined) return undefined;
  // Each is in it once and looked at once, whatever the store holds: a loop of parents keeps nobody here.
  const found = new Map([[id, first]]);
  const sessions: KeptSession[] = [];
  for (const [parentID, info] of found) {
    sessions.push(await keptSession(source, info));
    for (const child of await source.sessions({ parentID })) found.set(child.id, child);
  }
  return { format: FORMAT, version: FORMAT_VERSION, sessions };
};
