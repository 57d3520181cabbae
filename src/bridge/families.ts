import { untilAborted } from '../core/async.ts';
import type { Agent, Feed } from './agent/types.ts';

/** Which session an agent's work belongs to at the top: what is handed on runs in sessions below it. */
export type Families = {
  /** The session itself, where nothing is above it. */
  readonly rootOf: (sessionID: string, signal: AbortSignal) => Promise<string>;
  readonly stop: () => void;
};

const KEPT = 10_000;
const DEEPEST = 10;

export const createFamilies = (agent: Agent, feed: Feed): Families => {
  const parents = new Map<string, string | undefined>();
  const keep = (id: string, parent: string | undefined): void => {
    parents.set(id, parent);
    const [oldest] = parents.keys();
    if (parents.size > KEPT && oldest !== undefined) parents.delete(oldest);
  };
  const stop = feed.listen((news) => {
    if (news.kind !== 'event' || news.event.type !== 'session.created') return;
    const { id, parentID } = news.event.properties.info;
    keep(id, parentID);
  });
  /** Looks that are under way: every turn wants to know whose an ask is, all at the same moment. */
  const looks = new Map<string, Promise<string | undefined>>();
  const look = (id: string): Promise<string | undefined> => {
    const known = looks.get(id);
    if (known !== undefined) return known;
    // For all who ask, so it ends with none of them: the agent's calls have a limit of their own.
    const asked = agent.session(id, new AbortController().signal).then(({ parentID }) => {
      keep(id, parentID);
      return parentID;
    });
    looks.set(id, asked);
    const forget = () => void looks.delete(id);
    asked.then(forget, forget);
    return asked;
  };
  const parentOf = (id: string, signal: AbortSignal): Promise<string | undefined> =>
    parents.has(id) ? Promise.resolve(parents.get(id)) : untilAborted(look(id), signal);
  return {
    async rootOf(sessionID, signal) {
      let root = sessionID;
      for (let depth = 0; depth < DEEPEST; depth += 1) {
        const parent = await parentOf(root, signal);
        if (parent === undefined) return root;
        root = parent;
      }
      return root;
    },
    stop,
  };
};
