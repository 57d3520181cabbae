import type { Message, Part, Session } from '../../../src/agent/protocol/types.ts';

import { OrphanError, StaleSessionError } from '../../../src/agent/store/errors.ts';

import type { StoreChange, TurnReads } from '../../../src/agent/store/store.ts';
import { createMemoryTurns } from './memory-turns.ts';

type Placed = { readonly sessionID: string };
type Owed = Placed & { readonly promptID: string; readonly isBegun: boolean };
type Output = Placed & { readonly partID: string; readonly text: string };

type MemoryTables = {
  /** Those that are only begun are in here too. */
  readonly sessions: ReadonlyMap<string, Session>;
  /** Ids of sessions that nobody is to find yet. */
  readonly hidden: ReadonlyMap<string, true>;
  readonly messages: ReadonlyMap<string, Message>;
  readonly parts: ReadonlyMap<string, Part>;
  /** By the ids of their parts. */
  readonly outputs: ReadonlyMap<string, Output>;
  /** Answers that are owed, by the ids of their prompts. */
  readonly owed: ReadonlyMap<string, Owed>;
  readonly turns: TurnReads;
  /** Makes all of the changes, or throws and has made none. */
  readonly apply: (changes: readonly StoreChange[]) => void;
};

/** Sessions and what belongs to them, held in memory. */
export const createMemoryTables = (): MemoryTables => {
  const sessions = new Map<string, Session>();
  const hidden = new Map<string, true>();
  const messages = new Map<string, Message>();
  const parts = new Map<string, Part>();
  const outputs = new Map<string, Output>();
  const owed = new Map<string, Owed>();
  let undo: (() => void)[] = [];

  const put = <Row>(table: Map<string, Row>, id: string, row: Row | undefined): void => {
    const before = table.get(id);
    undo.push(() => (before === undefined ? table.delete(id) : table.set(id, before)));
    if (row === undefined) table.delete(id);
    else table.set(id, row);
  };
  const turns = createMemoryTurns(put, (id) => sessions.has(id));
  const forget = <Row>(table: Map<string, Row>, isMeant: (row: Row) => boolean): void => {
    for (const [id, row] of table) if (isMeant(row)) put(table, id, undefined);
  };
  const refuseStale = ({ session: { id }, before }: Extract<StoreChange, { kind: 'session' }>): void => {
    if (before === undefined) return;
    const held = hidden.has(id) ? undefined : sessions.get(id);
    if (held === undefined || JSON.stringify(held) !== JSON.stringify(before)) throw new StaleSessionError();
  };
  const removeSession = (sessionID: string): void => {
    put(sessions, sessionID, undefined);
    put(hidden, sessionID, undefined);
    const isInSession = (row: Placed) => row.sessionID === sessionID;
    forget(messages, isInSession);
    forget(parts, isInSession);
    forget(outputs, isInSession);
    forget(owed, isInSession);
    turns.forgetSession(sessionID);
  };
  const removeParts = (isMeant: (part: Part) => boolean): void => {
    forget(parts, isMeant);
    forget(outputs, ({ partID }) => !parts.has(partID));
  };
  const removeMessages = (sessionID: string, messageIDs: readonly string[]): void => {
    const meant = new Set(messageIDs);
    forget(messages, (message) => message.sessionID === sessionID && meant.has(message.id));
    removeParts((part) => part.sessionID === sessionID && meant.has(part.messageID));
    forget(owed, ({ promptID }) => !messages.has(promptID));
  };
  const beginSession = (session: Session): void => {
    if (sessions.has(session.id) && !hidden.has(session.id)) throw new OrphanError('session');
    removeSession(session.id);
    put(sessions, session.id, session);
    put(hidden, session.id, true);
  };
  const putMessage = (message: Message): void => {
    const { id, sessionID } = message;
    const held = messages.get(id) ?? message;
    if (!sessions.has(sessionID) || held.sessionID !== sessionID) throw new OrphanError('message');
    put(messages, id, message);
  };
  const putPart = (part: Part): void => {
    const { id, sessionID, messageID } = part;
    const held = parts.get(id) ?? part;
    if (messages.get(messageID)?.sessionID !== sessionID || held.messageID !== messageID) throw new OrphanError('part');
    put(parts, id, part);
  };
  const putOutput = ({ sessionID, partID, text }: Output): void => {
    if (parts.get(partID)?.sessionID !== sessionID) throw new OrphanError('output');
    put(outputs, partID, { sessionID, partID, text });
  };
  const make = (change: StoreChange): void => {
    switch (change.kind) {
      case 'session':
        refuseStale(change);
        put(sessions, change.session.id, change.session);
        put(hidden, change.session.id, undefined);
        break;
      case 'session-begun':
        beginSession(change.session);
        break;
      case 'session-given-up':
        if (hidden.has(change.sessionID)) removeSession(change.sessionID);
        break;
      case 'session-removed':
        removeSession(change.sessionID);
        break;
      case 'message':
        putMessage(change.message);
        break;
      case 'messages-removed':
        removeMessages(change.sessionID, change.messageIDs);
        break;
      case 'parts-removed': {
        const meant = new Set(change.partIDs);
        removeParts((part) => part.sessionID === change.sessionID && meant.has(part.id));
        break;
      }
      case 'part':
        putPart(change.part);
        break;
      case 'output':
        putOutput(change);
        break;
      case 'answer': {
        const { sessionID, promptID, state } = change;
        const isThere = messages.get(promptID)?.sessionID === sessionID;
        if (state !== 'ended' && !isThere) throw new OrphanError('message');
        if (isThere)
          put(owed, promptID, state === 'ended' ? undefined : { sessionID, promptID, isBegun: state === 'begun' });
        break;
      }
      default:
        turns.make(change);
    }
  };
  return {
    sessions,
    hidden,
    messages,
    parts,
    outputs,
    owed,
    turns: turns.reads,
    apply(changes) {
      undo = [];
      try {
        for (const change of changes) make(change);
      } catch (error) {
        for (const step of undo.reverse()) step();
        throw error;
      } finally {
        undo = [];
      }
    },
  };
};
