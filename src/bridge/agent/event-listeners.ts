import { sessionOf } from './schema.ts';
import type { AgentEventStream, AgentEventUpdate } from './types.ts';

type Entry = { readonly listener: (update: AgentEventUpdate) => void; readonly sessionID: string | undefined };

/** The listeners of an event stream. */
type EventListeners = Pick<AgentEventStream, 'subscribe'> & {
  /** Calls those that an update is for, in the order in which they subscribed. What one throws goes to `onBug`. */
  readonly publish: (update: AgentEventUpdate) => void;
  readonly clear: () => void;
};

/** The session that an update is about alone; undefined for what may matter to every session, such as a child's question. */
const onlySessionOf = (update: AgentEventUpdate): string | undefined => {
  if (update.kind === 'gap') return undefined;
  const { event } = update;
  const isAsked = ['permission.asked', 'permission.replied', 'question.asked'].includes(event.type);
  return isAsked ? undefined : sessionOf(event);
};

/** Hundreds of turns listen, each to its own session, so an event is not shown to all of them. */
export const createEventListeners = (onBug: (error: unknown) => void): EventListeners => {
  const all = new Set<Entry>();
  /** By session; those that listen to all sessions are under undefined. */
  const bySession = new Map<string | undefined, Set<Entry>>();

  const listenersFor = (sessionID: string | undefined): readonly Entry[] =>
    sessionID === undefined ? [...all] : [...(bySession.get(undefined) ?? []), ...(bySession.get(sessionID) ?? [])];
  const remove = (entry: Entry): void => {
    all.delete(entry);
    const others = bySession.get(entry.sessionID);
    others?.delete(entry);
    if (others?.size === 0) bySession.delete(entry.sessionID);
  };
  return {
    subscribe(listener, sessionID) {
      const entry = { listener, sessionID };
      all.add(entry);
      bySession.set(sessionID, (bySession.get(sessionID) ?? new Set()).add(entry));
      return () => remove(entry);
    },
    publish(update) {
      for (const entry of listenersFor(onlySessionOf(update))) {
        try {
          if (all.has(entry)) entry.listener(update);
        } catch (error) {
          onBug(error);
        }
      }
    },
    clear() {
      all.clear();
      bySession.clear();
    },
  };
};
