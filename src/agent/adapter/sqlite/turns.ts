import type { ChainEnd, Conversation, Turn } from '../../protocol/turns.ts';
import { StaleTurnError } from '../../store/errors.ts';
import { CHAIN_ENDS, type TurnChange, type TurnQuery } from '../../store/store.ts';
import { rowToChainEnd, rowToConversation, rowToTurn } from '../sql-store.ts';
import type { Statements } from './database.ts';

/** Names, keys and digests are stored as JSON: every JavaScript text comes back as it was. */
export const TURN_TABLES = `
  CREATE TABLE conversation (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX conversation_by_name ON conversation (owner, name) WHERE name IS NOT NULL;
  CREATE INDEX conversation_by_session ON conversation (session_id);
  CREATE TABLE turn (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    prompt_id TEXT NOT NULL,
    key TEXT,
    digest TEXT,
    due INTEGER,
    data TEXT NOT NULL,
    end_digest TEXT -- of the history that ended with it
  ) STRICT;
  CREATE UNIQUE INDEX turn_by_key ON turn (owner, key) WHERE key IS NOT NULL;
  CREATE INDEX turn_by_digest ON turn (owner, digest, id) WHERE digest IS NOT NULL;
  CREATE INDEX turn_by_conversation ON turn (conversation_id, id);
  CREATE INDEX turn_by_prompt ON turn (session_id, prompt_id, id);
  CREATE INDEX turn_due ON turn (due) WHERE due IS NOT NULL;
  CREATE INDEX turn_by_end ON turn (owner, end_digest, id) WHERE end_digest IS NOT NULL;
`;

const ADD_CONVERSATION = `
  INSERT INTO conversation (id, owner, name, session_id, data) SELECT ?1, ?2, ?3, ?4, ?5
  WHERE EXISTS (SELECT 1 FROM session WHERE id = ?4) ON CONFLICT DO NOTHING`;
const CHANGE_CONVERSATION = `
  UPDATE conversation SET session_id = ?4, data = ?5
  WHERE id = ?1 AND data = ?6 AND owner = ?2 AND name IS ?3 AND EXISTS (SELECT 1 FROM session WHERE id = ?4)`;
const ADD_TURN = `
  INSERT INTO turn (id, owner, conversation_id, session_id, prompt_id, key, digest, due, data)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
  WHERE EXISTS (SELECT 1 FROM conversation WHERE id = ?3) AND EXISTS (SELECT 1 FROM session WHERE id = ?4)
  ON CONFLICT DO NOTHING`;
const CHANGE_TURN = `
  UPDATE OR IGNORE turn SET session_id = ?4, prompt_id = ?5, key = ?6, digest = ?7, due = ?8, data = ?9
  WHERE id = ?1 AND data = ?10 AND owner = ?2 AND conversation_id = ?3`;
const END_TURN = 'UPDATE turn SET end_digest = ? WHERE id = ? AND owner = ?';

const keyColumn = (text: string | undefined): string | null => (text === undefined ? null : JSON.stringify(text));

/** Stores changes of turns and conversations. The caller runs it in a transaction. */
export const createSqliteTurnWrites = (statement: Statements) => {
  const run = (sql: string, values: readonly (string | number | null)[]): void => {
    if (Number(statement(sql).run(...values).changes) === 0) throw new StaleTurnError();
  };
  const putConversation = (one: Conversation, before: Conversation | undefined): void => {
    const columns = [one.id, one.owner, keyColumn(one.name), one.sessionID, JSON.stringify(one)];
    if (before === undefined) run(ADD_CONVERSATION, columns);
    else run(CHANGE_CONVERSATION, [...columns, JSON.stringify(before)]);
  };
  const putTurn = (one: Turn, before: Turn | undefined): void => {
    const place = [one.id, one.owner, one.conversationID, one.sessionID, one.promptID];
    const columns = [...place, keyColumn(one.key), keyColumn(one.digest), one.dueMs ?? null, JSON.stringify(one)];
    if (before === undefined) run(ADD_TURN, columns);
    else run(CHANGE_TURN, [...columns, JSON.stringify(before)]);
  };
  return (change: TurnChange): void => {
    switch (change.kind) {
      case 'conversation':
        putConversation(change.conversation, change.before);
        break;
      case 'conversation-removed':
        statement('DELETE FROM conversation WHERE id = ?').run(change.conversationID);
        break;
      case 'turn':
        putTurn(change.turn, change.before);
        break;
      case 'turn-removed':
        statement('DELETE FROM turn WHERE id = ?').run(change.turnID);
        break;
      case 'chain':
        statement(END_TURN).run(change.end.digest, change.end.turnID, change.owner);
        break;
      default:
        change satisfies never;
    }
  };
};

const TURN = 'SELECT data FROM turn WHERE';
const OF_CONVERSATION = (before: string) =>
  `${TURN} conversation_id = ? AND owner = ?${before} ORDER BY id DESC LIMIT ?`;
const END = 'SELECT end_digest, session_id, id, prompt_id FROM turn';
/** The newest of each digest, found by the index. */
const ENDS = `${END} WHERE id IN (
  SELECT newest.id FROM json_each(?2) AS asked, turn AS newest
  WHERE newest.id IN (
    SELECT id FROM turn WHERE owner = ?1 AND end_digest = asked.value ORDER BY id DESC LIMIT ${CHAIN_ENDS}
  ))`;

/** Queries of turns and conversations. */
export const createSqliteTurnReads = (statement: Statements) => {
  const one = (sql: string, ...values: readonly string[]): Turn | undefined => {
    const row = statement(sql).get(...values);
    return row && rowToTurn(row);
  };
  const some = (sql: string, ...values: readonly (string | number)[]): readonly Turn[] =>
    statement(sql)
      .all(...values)
      .map(rowToTurn);
  const conversation = (sql: string, ...values: readonly string[]): Conversation | undefined => {
    const row = statement(sql).get(...values);
    return row && rowToConversation(row);
  };
  return {
    turn: (owner: string, id: string) => one(`${TURN} id = ? AND owner = ?`, id, owner),
    byKey: (owner: string, key: string) => one(`${TURN} owner = ? AND key = ?`, owner, JSON.stringify(key)),
    byDigest: (owner: string, digest: string, limit: number) =>
      some(`${TURN} owner = ? AND digest = ? ORDER BY id DESC LIMIT ?`, owner, JSON.stringify(digest), limit),
    ofConversation: (owner: string, conversationID: string, { limit, beforeID }: TurnQuery) =>
      beforeID === undefined
        ? some(OF_CONVERSATION(''), conversationID, owner, limit)
        : some(OF_CONVERSATION(' AND id < ?'), conversationID, owner, beforeID, limit),
    ofPrompt: (sessionID: string, promptID: string) =>
      some(`${TURN} session_id = ? AND prompt_id = ? ORDER BY id`, sessionID, promptID),
    due: (nowMs: number, limit: number) => some(`${TURN} due <= ? ORDER BY due, id LIMIT ?`, nowMs, limit),
    conversation: (owner: string, id: string) =>
      conversation('SELECT data FROM conversation WHERE id = ? AND owner = ?', id, owner),
    conversationByName: (owner: string, name: string) =>
      conversation('SELECT data FROM conversation WHERE owner = ? AND name = ?', owner, JSON.stringify(name)),
    chainOf(turnID: string): ChainEnd | undefined {
      const row = statement(`${END} WHERE id = ? AND end_digest IS NOT NULL`).get(turnID);
      return row && rowToChainEnd(row);
    },
    chains: (owner: string, digests: readonly string[]): readonly ChainEnd[] =>
      statement(ENDS).all(owner, JSON.stringify(digests)).map(rowToChainEnd),
  };
};
