import type { Publisher } from '../events/publisher.ts';
import { type AgentEvent, sessionIDOf } from '../protocol/events.ts';

/** Receives the events of a session, and those about permission requests of any other. It must not throw. */
type SessionListener = (event: AgentEvent) => void;

/** Follows one session. The returned function ends that. */
export type FollowSession = (sessionID: string, listener: SessionListener) => () => void;

/** Gives each event to those alone who follow its session: with many readers nobody looks at the events of all. */
export const createSessionEvents = ({ subscribe }: Pick<Publisher, 'subscribe'>): FollowSession => {
  const followers = new Map<string, Set<SessionListener>>();
  let unsubscribe: (() => void) | undefined;
  const deliver = (event: AgentEvent): void => {
    const isForAll = event.type === 'permission.asked' || event.type === 'permission.replied';
    const meant = isForAll ? [...followers.values()] : [followers.get(sessionIDOf(event) ?? '') ?? []];
    for (const listeners of meant) for (const listener of listeners) listener(event);
  };
  return (sessionID, listener) => {
    const listeners = followers.get(sessionID) ?? new Set();
    followers.set(sessionID, listeners.add(listener));
    unsubscribe ??= subscribe(({ event }) => deliver(event));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && followers.get(sessionID) === listeners) followers.delete(sessionID);
      if (followers.size > 0) return;
      unsubscribe?.();
      unsubscribe = undefined;
    };
  };
};
