import type { KeyedQueue } from '../../../core/keyed-queue.ts';
import { ignoreNotFound, isNotFound } from '../../agent/errors.ts';
import type { AgentClient } from '../../agent/types.ts';
import { EMPTY_FINGERPRINT } from '../fingerprint.ts';
import type { LockConversation } from '../lock.ts';
import type { ConversationIndex } from '../lookup.ts';
import { queueKeyOf } from '../lookup.ts';
import { storedBase } from '../match.ts';
import { notYetCreated } from '../open-session.ts';
import type { ClientMetadata, StoredConversation } from '../record.ts';
import { conversationIDFor, conversationNotFound, sessionInConversationID } from '../response-id.ts';
import type { ConversationSync } from '../sync.ts';
import { sessionTitleFor } from '../transcript.ts';
import type { Owner, RequestMark } from '../types.ts';
import type { ConversationWrites } from '../writes.ts';

/** A conversation while no request is answered in it. */
type HeldConversation = { readonly conversation: StoredConversation; readonly release: () => void };

/**
 * Conversations as objects of their clients: by an id from here, or by the name that a client has given. All but `create` fault
 * with `not-found` where this owner has no such conversation.
 */
export type ClientConversations = {
  readonly create: (owner: Owner, metadata: ClientMetadata, signal: AbortSignal) => Promise<StoredConversation>;
  readonly find: (owner: Owner, id: string, signal: AbortSignal) => Promise<StoredConversation>;
  readonly setMetadata: (conversation: StoredConversation, metadata: ClientMetadata) => Promise<StoredConversation>;
  /** Aborts what runs in it, and deletes its session with all responses. */
  readonly delete: (conversation: StoredConversation, signal: AbortSignal) => Promise<void>;
  /** Waits for the requests before, at all bridges. Call `release` in any case, once. */
  readonly hold: (conversation: StoredConversation, signal: AbortSignal) => Promise<HeldConversation>;
};

type ClientConversationsNeeds = {
  readonly agent: Pick<AgentClient, 'createSession' | 'deleteSession' | 'abort' | 'busySessions'>;
  readonly index: ConversationIndex;
  readonly sync: ConversationSync;
  readonly writes: ConversationWrites;
  readonly queue: KeyedQueue;
  readonly lock: LockConversation;
  readonly newToken: () => string;
  readonly nowSeconds: () => number;
};

export const createClientConversations = (needs: ClientConversationsNeeds): ClientConversations => {
  const { agent, index, sync, writes, queue, lock, newToken, nowSeconds } = needs;

  /** What another bridge has changed is read in any case: no client is to see what it has replaced. */
  const refreshed = async (sessionID: string, signal: AbortSignal): Promise<StoredConversation | undefined> => {
    await sync.refresh(sessionID, signal);
    return index.bySession(sessionID);
  };
  const findNamed = async (
    owner: Owner,
    name: string,
    signal: AbortSignal,
  ): Promise<StoredConversation | undefined> => {
    const looks = sync.looks();
    await sync.load(signal);
    if (index.byName(owner, name) === undefined) await sync.lookAfter(looks, signal);
    const known = index.byName(owner, name);
    return known && refreshed(known.sessionID, signal);
  };
  return {
    async create(owner, metadata, signal) {
      const { id, time } = await agent.createSession({ title: sessionTitleFor([]), metadata: {} }, signal);
      const name = conversationIDFor(id, newToken());
      const begun = { ...notYetCreated({ owner, name, isNamed: true, mark: undefined }), sessionID: id };
      const created = { ...begun, clientMetadata: metadata, createdAt: time.created, revision: 0 };
      index.put(created);
      try {
        await writes.write(created, () => created);
      } catch (error) {
        writes.discard(created);
        throw error;
      }
      return created;
    },
    async find(owner, id, signal) {
      const sessionID = sessionInConversationID(id);
      const found = sessionID === undefined ? await findNamed(owner, id, signal) : await refreshed(sessionID, signal);
      if (found?.owner !== owner || found.name !== id) throw conversationNotFound(id);
      return found;
    },
    async setMetadata({ sessionID, name }, clientMetadata) {
      const change = (current: StoredConversation): StoredConversation => ({ ...current, clientMetadata });
      const current = index.bySession(sessionID);
      if (current === undefined) throw conversationNotFound(name);
      index.put(change(current));
      try {
        await writes.write(change(current), change);
      } catch (error) {
        const kept = index.bySession(sessionID);
        if (kept !== undefined) index.put({ ...kept, clientMetadata: current.clientMetadata });
        throw isNotFound(error) ? conversationNotFound(name) : error;
      }
      return index.bySession(sessionID) ?? change(current);
    },
    async delete({ sessionID, name }, signal) {
      try {
        // OpenCode goes on with the turn of a session that is deleted.
        if ((await agent.busySessions(signal)).has(sessionID)) await agent.abort(sessionID, signal);
        index.remove(sessionID);
        await agent.deleteSession(sessionID, signal).catch(ignoreNotFound);
      } catch (error) {
        throw isNotFound(error) ? conversationNotFound(name) : error;
      }
    },
    async hold({ sessionID, owner, name }, signal) {
      const find = () => {
        const conversation = index.bySession(sessionID);
        return conversation && { conversation, base: storedBase(conversation) };
      };
      // Equal to the mark of no request.
      const mark: RequestMark = { digest: '', token: newToken(), createdSeconds: nowSeconds() };
      const place = { owner, name, isNamed: true, isStored: true, prompt: [], mark };
      const replay = async () => ({
        messages: [],
        entries: [],
        fingerprint: EMPTY_FINGERPRINT,
        base: { fingerprint: EMPTY_FINGERPRINT, last: [], tail: [] },
        others: [],
      });
      const plan = { ...place, find, waitsForOthers: true, isCreated: true, replay };
      const { release } = await lock(plan, queue.join(queueKeyOf(plan)), signal);
      const conversation = index.bySession(sessionID);
      if (conversation !== undefined) return { conversation, release };
      release();
      throw conversationNotFound(name);
    },
  };
};
