import type { ChainEnd, Conversation, Turn } from '../../../src/agent/protocol/turns.ts';
import { StaleTurnError } from '../../../src/agent/store/errors.ts';
import { CHAIN_ENDS, type TurnChange, type TurnReads } from '../../../src/agent/store/store.ts';

type Put = <Row>(table: Map<string, Row>, id: string, row: Row | undefined) => void;
type StoredEnd = ChainEnd & { readonly owner: string };

/** Conversations, turns and the ends of histories, held in memory. `put` keeps how each change is undone. */
export const createMemoryTurns = (put: Put, hasSession: (id: string) => boolean) => {
  const conversations = new Map<string, Conversation>();
  const turns = new Map<string, Turn>();
  const ends = new Map<string, StoredEnd>();

  const refuseUnless = (holds: boolean): void => {
    if (!holds) throw new StaleTurnError();
  };
  const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
  const putConversation = (one: Conversation, before: Conversation | undefined): void => {
    const named = [...conversations.values()].find(
      ({ id, owner, name }) => id !== one.id && owner === one.owner && name !== undefined && name === one.name,
    );
    refuseUnless(hasSession(one.sessionID) && named === undefined && isSame(conversations.get(one.id), before));
    put(conversations, one.id, one);
  };
  const putTurn = (one: Turn, before: Turn | undefined): void => {
    const keyed = [...turns.values()].find(
      ({ id, owner, key }) => id !== one.id && owner === one.owner && key !== undefined && key === one.key,
    );
    const isHome = conversations.has(one.conversationID) && hasSession(one.sessionID);
    refuseUnless(isHome && keyed === undefined && isSame(turns.get(one.id), before));
    put(turns, one.id, one);
  };
  const forgetTurns = (isMeant: (turn: Turn) => boolean): void => {
    for (const turn of [...turns.values()].filter(isMeant)) {
      put(turns, turn.id, undefined);
      put(ends, turn.id, undefined);
    }
  };
  const forgetConversation = (conversationID: string): void => {
    put(conversations, conversationID, undefined);
    forgetTurns((turn) => turn.conversationID === conversationID);
  };
  const newestFirst = (isMeant: (turn: Turn) => boolean): Turn[] =>
    [...turns.values()].filter(isMeant).sort((left, right) => (left.id < right.id ? 1 : -1));
  return {
    forgetSession(sessionID: string): void {
      for (const one of [...conversations.values()]) if (one.sessionID === sessionID) forgetConversation(one.id);
      forgetTurns((turn) => turn.sessionID === sessionID);
    },
    make(change: TurnChange): void {
      switch (change.kind) {
        case 'conversation':
          putConversation(change.conversation, change.before);
          break;
        case 'conversation-removed':
          forgetConversation(change.conversationID);
          break;
        case 'turn':
          putTurn(change.turn, change.before);
          break;
        case 'turn-removed':
          forgetTurns(({ id }) => id === change.turnID);
          break;
        case 'chain':
          if (turns.has(change.end.turnID)) put(ends, change.end.turnID, { ...change.end, owner: change.owner });
          break;
        default:
          change satisfies never;
      }
    },
    reads: {
      turn: async (owner, id) => newestFirst((turn) => turn.owner === owner && turn.id === id)[0],
      byKey: async (owner, key) => newestFirst((turn) => turn.owner === owner && turn.key === key)[0],
      byDigest: async (owner, digest, limit) =>
        newestFirst((turn) => turn.owner === owner && turn.digest === digest).slice(0, limit),
      ofConversation: async (owner, conversationID, { limit, beforeID }) =>
        newestFirst(
          (turn) =>
            turn.owner === owner &&
            turn.conversationID === conversationID &&
            (beforeID === undefined || turn.id < beforeID),
        ).slice(0, limit),
      ofPrompt: async (sessionID, promptID) =>
        newestFirst((turn) => turn.sessionID === sessionID && turn.promptID === promptID).reverse(),
      due: async (nowMs, limit) =>
        newestFirst(({ dueMs }) => dueMs !== undefined && dueMs <= nowMs)
          .sort((left, right) => (left.dueMs ?? 0) - (right.dueMs ?? 0) || (left.id < right.id ? -1 : 1))
          .slice(0, limit),
      conversation: async (owner, id) =>
        [...conversations.values()].find((one) => one.owner === owner && one.id === id),
      conversationByName: async (owner, name) =>
        [...conversations.values()].find((one) => one.owner === owner && one.name === name),
      chainOf: async (turnID) => withoutOwner(ends.get(turnID)),
      chains: async (owner, digests) =>
        [...new Set(digests)].flatMap((digest) =>
          [...ends.values()]
            .filter((end) => end.owner === owner && end.digest === digest)
            .sort((left, right) => (left.turnID < right.turnID ? 1 : -1))
            .slice(0, CHAIN_ENDS)
            .flatMap((end) => withoutOwner(end) ?? []),
        ),
    } satisfies TurnReads,
  };
};

const withoutOwner = (end: StoredEnd | undefined): ChainEnd | undefined =>
  end && { digest: end.digest, sessionID: end.sessionID, turnID: end.turnID, promptID: end.promptID };
