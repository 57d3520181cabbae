import { createKeyedQueue } from '../../../core/keyed-queue.ts';
import type { CallAgent } from '../../agent/calls.ts';
import type { AgentTransport } from '../../agent/servers.ts';
import { refused } from '../../errors.ts';
import { createTracedPost } from '../agent/traced-post.ts';
import type { TurnsPort } from '../port.ts';
import { beginTurn } from './begin.ts';
import { createConversations } from './conversations.ts';
import { createAgentFeed } from './feed.ts';
import type { TurnsNeeds } from './needs.ts';
import { followRequests } from './open-requests.ts';
import { eventsOf, leaveTurn, readTurnEntries } from './reading.ts';
import { removeTurn, turnViewOf } from './records.ts';
import { createSessionClient } from './session-client.ts';
import { knownTurn, type TurnsState } from './state.ts';

/** How many may wait in a conversation. */
const WAITING_LIMIT = 16;

type OpenCodeNeeds = Omit<TurnsNeeds, 'agent' | 'feed' | 'traced'> & {
  readonly callAgent: CallAgent;
  readonly transport: AgentTransport;
};

/** Turns at a server with the API of OpenCode 1.x. What this process knows of them is gone when it ends. */
export const createOpenCodeTurns = (given: OpenCodeNeeds): TurnsPort & { readonly stop: () => void } => {
  const agent = createSessionClient(given.callAgent);
  const feed = createAgentFeed(given);
  const needs: TurnsNeeds = { ...given, agent, feed, traced: createTracedPost(given.transport.baseUrl) };
  const state: TurnsState = {
    needs,
    requests: followRequests(needs),
    queue: createKeyedQueue({ count: WAITING_LIMIT, per: 'key', createError: () => refused('conversation_full') }),
    turns: new Map(),
    conversations: new Map(),
    hasMarks: false,
    stopping: new AbortController(),
  };
  return {
    begin: (request, by) => beginTurn(state, request, by),
    async *follow(turnID, after, { owner, signal }) {
      yield* eventsOf(state, knownTurn(state, turnID, owner), { after, signal });
    },
    async read(turnID, { owner, signal }) {
      const record = knownTurn(state, turnID, owner);
      const entries = await readTurnEntries(state, record, { after: record.from, signal });
      return { turn: turnViewOf(record), entries };
    },
    view: async (turnID, { owner }) => turnViewOf(knownTurn(state, turnID, owner)),
    async input({ sessionID, messageIDs }, { signal }) {
      return Promise.all(messageIDs.map((id) => agent.message(sessionID, id, signal)));
    },
    async turnsOfPart({ sessionID, partID }, { owner, signal }) {
      const own = [...state.turns.values()].filter((turn) => turn.owner === owner && turn.sessionID === sessionID);
      if (own.length === 0) return [];
      const records = await agent.messages(sessionID, signal);
      const info = records.find(({ parts }) => parts.some(({ id }) => id === partID))?.info;
      if (info?.role !== 'assistant') return [];
      return own.filter(({ promptID }) => promptID === info.parentID).map(turnViewOf);
    },
    async waitingTurns({ owner }) {
      const own = [...state.turns.values()].filter((turn) => turn.owner === owner && turn.promptID !== '');
      return own.map(turnViewOf).filter(({ status }) => status === 'waiting');
    },
    async leave(turnID, reader, { owner }) {
      leaveTurn(state, knownTurn(state, turnID, owner), reader);
    },
    async cancel(turnID, { owner }) {
      const record = knownTurn(state, turnID, owner);
      await record.run?.abort();
      return turnViewOf(record);
    },
    async delete(turnID, { owner }) {
      const record = knownTurn(state, turnID, owner);
      if (record.end === undefined) throw refused('turn_running');
      await removeTurn(state, record);
    },
    async decide(turnID, decisions, { owner }) {
      const { run } = knownTurn(state, turnID, owner);
      const open = run?.waiting() ?? [];
      const ids = decisions.map(({ requestID }) => requestID);
      const unknown = ids.filter((requestID) => open.every(({ id }) => id !== requestID));
      if (unknown.length > 0) throw refused('no_such_request', unknown);
      for (const decision of decisions) await state.requests.reply(decision);
    },
    conversations: createConversations(state),
    takesClientTools: async () => false,
    stop() {
      feed.stop();
      state.requests.stop();
      for (const { run } of state.turns.values()) run?.stop();
      state.stopping.abort();
    },
  };
};
