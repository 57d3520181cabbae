import type { ChainEnd, Conversation, Turn } from '../../../protocol/turns.ts';
import { CHAIN_ENDS, type TurnChange, type TurnQuery, type TurnReads } from '../../../store/store.ts';
import { rowToChainEnd, rowToConversation, rowToTurn } from '../../sql-store.ts';
import type { PostgresConnection, Sql } from '../connection.ts';
import { asID } from './reads.ts';

/** As JSON, like the data: so every JavaScript text can be stored. */
const keyColumn = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : JSON.stringify(text);

/** A change of turns or conversations as `commit_group` in the database takes it. */
export const serializeTurnChange = (change: TurnChange): Readonly<Record<string, unknown>> => {
  const { kind } = change;
  switch (kind) {
    case 'conversation': {
      const { conversation, before } = change;
      const { id, owner, sessionID: session } = conversation;
      const data = { data: JSON.stringify(conversation), before: before && JSON.stringify(before) };
      return { kind, id, owner, key: keyColumn(conversation.name), session, ...data };
    }
    case 'conversation-removed':
      return { kind, id: change.conversationID };
    case 'turn': {
      const { turn, before } = change;
      const { id, owner, conversationID: parent, sessionID: session, promptID: message, dueMs: updated } = turn;
      const keys = { key: keyColumn(turn.key), digest: keyColumn(turn.digest) };
      const data = { data: JSON.stringify(turn), before: before && JSON.stringify(before) };
      return { kind, id, owner, parent, session, message, updated, ...keys, ...data };
    }
    case 'turn-removed':
      return { kind, id: change.turnID };
    case 'chain':
      return { kind, id: change.end.turnID, owner: change.owner, digest: change.end.digest };
    default:
      return change satisfies never;
  }
};

/** Queries of turns and conversations. */
export const createPostgresTurnReads = ({ query }: PostgresConnection): TurnReads => {
  const some = async (conditions: (sql: Sql) => ReturnType<Sql>): Promise<readonly Turn[]> =>
    (await query((sql) => sql`SELECT data FROM turn WHERE ${conditions(sql)}`)).map(rowToTurn);
  const conversation = async (condition: (sql: Sql) => ReturnType<Sql>): Promise<Conversation | undefined> => {
    const [row] = await query((sql) => sql`SELECT data FROM conversation WHERE ${condition(sql)}`);
    return row && rowToConversation(row);
  };
  const ends = async (from: (sql: Sql) => ReturnType<Sql>): Promise<readonly ChainEnd[]> =>
    (await query((sql) => sql`SELECT end_digest, session_id, id, prompt_id FROM ${from(sql)}`)).map(rowToChainEnd);
  return {
    turn: async (owner, id) => (await some((sql) => sql`id = ${asID(id)} AND owner = ${asID(owner)}`))[0],
    byKey: async (owner, key) => (await some((sql) => sql`owner = ${asID(owner)} AND key = ${JSON.stringify(key)}`))[0],
    byDigest: (owner, digest, limit) =>
      some((sql) => sql`owner = ${asID(owner)} AND digest = ${JSON.stringify(digest)} ORDER BY id DESC LIMIT ${limit}`),
    ofConversation: (owner, conversationID, { limit, beforeID }: TurnQuery) =>
      some(
        (sql) => sql`conversation_id = ${asID(conversationID)} AND owner = ${asID(owner)}
          ${beforeID === undefined ? sql`` : sql`AND id < ${asID(beforeID)}`} ORDER BY id DESC LIMIT ${limit}`,
      ),
    ofPrompt: (sessionID, promptID) =>
      some((sql) => sql`session_id = ${asID(sessionID)} AND prompt_id = ${asID(promptID)} ORDER BY id`),
    due: (nowMs, limit) => some((sql) => sql`due <= ${nowMs} ORDER BY due, id LIMIT ${limit}`),
    conversation: (owner, id) => conversation((sql) => sql`id = ${asID(id)} AND owner = ${asID(owner)}`),
    conversationByName: (owner, name) =>
      conversation((sql) => sql`owner = ${asID(owner)} AND name = ${JSON.stringify(name)}`),
    chainOf: async (turnID) =>
      (await ends((sql) => sql`turn WHERE id = ${asID(turnID)} AND end_digest IS NOT NULL`))[0],
    chains: (owner, digests) =>
      ends(
        (sql) => sql`json_array_elements_text(${JSON.stringify(digests.map(asID))}::text::json) AS asked (digest),
          LATERAL (
            SELECT * FROM turn WHERE owner = ${asID(owner)} AND end_digest = asked.digest COLLATE "C"
            ORDER BY id DESC LIMIT ${CHAIN_ENDS}
          ) AS newest`,
      ),
  };
};
