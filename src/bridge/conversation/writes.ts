import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound } from '../agent/errors.ts';
import type { ClaimOutcome } from '../agent/prompt-claim.ts';
import type { SessionRecord } from '../agent/schema.ts';
import type { AgentClient } from '../agent/types.ts';
import type { ConversationIndex } from './lookup.ts';
import { readConversation, type StoredConversation, toSessionMetadata } from './record.ts';

/** What a write makes of a record that another bridge has changed in the meantime. Undefined: the write is given up. */
type Reapply = (current: StoredConversation) => StoredConversation | undefined;

/** Stores conversations in the metadata of their sessions. */
export type ConversationWrites = {
  /**
   * Stores what the index holds of a conversation, or `given` where it holds nothing. Writes of one conversation run in order.
   * Resolves to false if another bridge was faster and `reapply` gave up: the index holds then what that has written. A
   * failure is logged, and rejects.
   */
  readonly write: (given: StoredConversation, reapply: Reapply) => Promise<boolean>;
  /**
   * The metadata to store of a conversation where the agent stores them together with something else. That counts as a write under
   * way until the outcome, and the revision as written if it is `stored`.
   */
  readonly writeWith: (given: StoredConversation, outcome: Promise<ClaimOutcome>) => Readonly<Record<string, unknown>>;
  /** Whether a write of the session is under way: what is read of it now may be older. */
  readonly isWriting: (sessionID: string) => boolean;
  /** Deletes a session that no client knows. Never throws. */
  readonly discard: (sessionID: string) => void;
};

type ConversationWritesNeeds = {
  readonly agent: Pick<AgentClient, 'session' | 'setMetadata' | 'deleteSession'>;
  readonly index: ConversationIndex;
  readonly clock: Clock;
  readonly log: Log;
};

const WRITE_LIMIT_MS = 10_000;
/** Bridges that change one conversation at a time get their turns within a few tries. */
const TRIES = 10;

/** The work with a time limit of its own, whether or not it ends when its signal aborts. */
export const withinLimit = async <T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const { signal, clear } = createDeadline(clock, limitMs);
  try {
    return await untilAborted(work(signal), signal);
  } finally {
    clear();
  }
};

/** Whether a session holds what a write has sent. That is sent again when its answer was lost, and refused then. */
const hasMetadata = ({ metadata }: SessionRecord, sent: Readonly<Record<string, unknown>>): boolean =>
  JSON.stringify(metadata) === JSON.stringify(sent);

export const createConversationWrites = ({ agent, index, clock, log }: ConversationWritesNeeds): ConversationWrites => {
  const writes = new Map<string, Promise<void>>();
  const logFailure = (event: string, session: string, error: unknown): void =>
    log('warn', event, { session, reason: error instanceof Fault ? error.detail.kind : 'bug' });

  const noteStored = (sessionID: string, revision: number): void => {
    const latest = index.bySession(sessionID);
    if (latest !== undefined && latest.revision < revision) index.put({ ...latest, revision });
  };
  /** Every write names the revision that it replaces, so what another bridge has written is never lost. */
  const writeOver = async (given: StoredConversation, reapply: Reapply, signal: AbortSignal): Promise<boolean> => {
    const { sessionID } = given;
    for (let tries = 1; ; tries += 1) {
      const current = index.bySession(sessionID) ?? given;
      const revision = current.revision + 1;
      const metadata = toSessionMetadata({ ...current, revision });
      const outcome = await agent.setMetadata(sessionID, metadata, signal, current.revision);
      const found = outcome === 'stored' ? undefined : await agent.session(sessionID, signal);
      if (found === undefined || hasMetadata(found, metadata)) {
        noteStored(sessionID, revision);
        return true;
      }
      const stored = readConversation(found);
      const next = stored && reapply(stored);
      if (stored === undefined) index.remove(sessionID);
      else index.adopt({ ...(next ?? stored), usedAt: clock.now() });
      if (next === undefined) return false;
      if (tries === TRIES) throw new Fault({ kind: 'backend-error', reason: 'Other bridges change the conversation' });
    }
  };
  const writeNow = async (given: StoredConversation, reapply: Reapply): Promise<boolean> => {
    try {
      return await withinLimit(clock, WRITE_LIMIT_MS, (signal) => writeOver(given, reapply, signal));
    } catch (error) {
      if (isNotFound(error)) index.remove(given.sessionID);
      logFailure('conversation-not-kept', given.sessionID, error);
      throw error;
    }
  };
  /** One write of a session at a time. */
  const inOrder = <T>(sessionID: string, work: () => Promise<T>): Promise<T> => {
    const written = (writes.get(sessionID) ?? Promise.resolve()).then(work);
    const settled = written
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (writes.get(sessionID) === settled) writes.delete(sessionID);
      });
    writes.set(sessionID, settled);
    return written;
  };
  return {
    write: (given, reapply) => inOrder(given.sessionID, () => writeNow(given, reapply)),
    writeWith(given, outcome) {
      const revision = given.revision + 1;
      void inOrder(given.sessionID, async () => {
        if ((await outcome) === 'stored') noteStored(given.sessionID, revision);
      });
      return toSessionMetadata({ ...given, revision });
    },
    isWriting: (sessionID) => writes.has(sessionID),
    discard(sessionID) {
      index.remove(sessionID);
      const deleting = withinLimit(clock, WRITE_LIMIT_MS, (signal) => agent.deleteSession(sessionID, signal));
      deleting.catch((error: unknown) => {
        if (!isNotFound(error)) logFailure('session-not-deleted', sessionID, error);
      });
    },
  };
};
