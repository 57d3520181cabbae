import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound } from '../agent/errors.ts';
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
   * Waits for the turn of a write that the agent makes together with something else. It is under way until the returned function is
   * called: with the revision that it has stored, or undefined if that is not known.
   */
  readonly begin: (sessionID: string) => Promise<(storedRevision: number | undefined) => void>;
  /** Whether a write of the session is under way: what is read of it now may be older. */
  readonly isWriting: (sessionID: string) => boolean;
  /** Deletes a session that no client knows. One with a claim only while that is its own: another bridge may have taken it over. Never throws. */
  readonly discard: (given: StoredConversation) => void;
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
  /** How often what the index held was replaced by what another bridge has written, of sessions that are being written. */
  const replacements = new Map<string, number>();
  const logFailure = (event: string, session: string, error: unknown): void =>
    log('warn', event, { session, reason: error instanceof Fault ? error.detail.kind : 'bug' });

  const noteStored = (sessionID: string, revision: number): void => {
    const latest = index.bySession(sessionID);
    if (latest !== undefined && latest.revision < revision) index.put({ ...latest, revision });
  };
  /** Every write names the revision that it replaces, so what another bridge has written is never lost. */
  const writeOver = async (
    given: StoredConversation,
    reapply: Reapply,
    isReplaced: boolean,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const { sessionID } = given;
    if (isReplaced) {
      const latest = index.bySession(sessionID);
      const next = latest && reapply(latest);
      if (next === undefined) return false;
      index.put(next);
    }
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
      replacements.set(sessionID, (replacements.get(sessionID) ?? 0) + 1);
      const stored = readConversation(found);
      const next = stored && reapply(stored);
      if (stored === undefined) index.remove(sessionID);
      else index.adopt({ ...(next ?? stored), usedAt: clock.now() });
      if (next === undefined) return false;
      if (tries === TRIES) throw new Fault({ kind: 'backend-error', reason: 'Other bridges change the conversation' });
    }
  };
  /** `known`: the replacements when it was asked for. What came since has taken the change out of the index. */
  const writeNow = async (given: StoredConversation, reapply: Reapply, known: number | undefined): Promise<boolean> => {
    const isReplaced = replacements.get(given.sessionID) !== known;
    try {
      return await withinLimit(clock, WRITE_LIMIT_MS, (signal) => writeOver(given, reapply, isReplaced, signal));
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
        if (writes.get(sessionID) !== settled) return;
        writes.delete(sessionID);
        replacements.delete(sessionID);
      });
    writes.set(sessionID, settled);
    return written;
  };
  /** Removes the record of a conversation from its session, so that no bridge finds it. False: another bridge has taken it over. */
  const leave = async (given: StoredConversation, signal: AbortSignal): Promise<boolean> => {
    const { sessionID, claim } = given;
    for (let current: StoredConversation | undefined = given; current !== undefined; ) {
      const { otherMetadata, revision } = current;
      if ((await agent.setMetadata(sessionID, otherMetadata, signal, revision)) === 'stored') return true;
      current = readConversation(await agent.session(sessionID, signal));
      if (current === undefined || current.claim === claim) continue;
      index.adopt({ ...current, usedAt: clock.now() });
      return false;
    }
    return true;
  };
  return {
    write(given, reapply) {
      const known = replacements.get(given.sessionID);
      return inOrder(given.sessionID, () => writeNow(given, reapply, known));
    },
    begin(sessionID) {
      const turn = Promise.withResolvers<(storedRevision: number | undefined) => void>();
      void inOrder(sessionID, async () => {
        const end = Promise.withResolvers<number | undefined>();
        turn.resolve(end.resolve);
        const revision = await end.promise;
        if (revision !== undefined) noteStored(sessionID, revision);
      });
      return turn.promise;
    },
    isWriting: (sessionID) => writes.has(sessionID),
    discard(given) {
      const { sessionID, claim } = given;
      const known = index.bySession(sessionID) ?? given;
      if (known.claim !== claim) return;
      index.remove(sessionID);
      const discarding = async (signal: AbortSignal): Promise<void> => {
        if (claim === undefined || (await leave(known, signal))) await agent.deleteSession(sessionID, signal);
      };
      inOrder(sessionID, () => withinLimit(clock, WRITE_LIMIT_MS, discarding)).catch((error: unknown) => {
        if (!isNotFound(error)) logFailure('session-not-deleted', sessionID, error);
      });
    },
  };
};
