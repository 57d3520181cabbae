import type { Turn } from '../protocol/turns.ts';
import type { StoreChange } from '../store/store.ts';
import { UNREAD_LIFE_MS } from './leaving.ts';
import type { Located } from './locate.ts';
import type { AskedTurn } from './request.ts';

/** What is known of a turn that begins, besides its request. */
type NewTurn = Pick<Turn, 'id' | 'sessionID' | 'promptID' | 'from' | 'messageIDs' | 'createdMs'> & {
  readonly conversationID: string;
  readonly chain: string | undefined;
  readonly reader: string;
};

/** The record of a turn that begins. */
export const createTurn = ({ owner, body, results }: AskedTurn, { chain, reader, ...given }: NewTurn): Turn => ({
  ...given,
  owner,
  callIDs: [...new Set(results.map(({ callID }) => callID))],
  ...(body.key === undefined ? {} : { key: body.key }),
  ...(body.digest === undefined ? {} : { digest: body.digest }),
  abortAfterMs: body.abortAfterMs,
  isStored: body.isStored,
  // No history leads to what is removed in a moment.
  ...(chain === undefined || !body.isStored ? {} : { chain }),
  metadata: body.metadata,
  readers: [reader],
  joins: 0,
  ...(body.isStored ? {} : { dueMs: given.createdMs + UNREAD_LIFE_MS }),
});

const withoutKey = ({ key: _, ...turn }: Turn): Turn => turn;

/** Turns that a new one changes: one that gives its key up, and one that it continues. */
export type Touched = { readonly released: Turn | undefined; readonly continued?: Turn | undefined };

/** What is stored with the beginning of a turn, in the commit of its prompt or of its results. */
export const turnChanges = (
  turn: Turn,
  { conversation, before }: Pick<Located, 'conversation' | 'before'>,
  { released, continued }: Touched,
): readonly StoreChange[] => {
  const moved = { ...conversation, sessionID: turn.sessionID, lastTurnID: turn.id };
  const changed: StoreChange[] = [];
  if (released !== undefined) changed.push({ kind: 'turn', turn: withoutKey(released), before: released });
  if (continued !== undefined && continued.id !== released?.id) {
    const ended = { ...continued, until: turn.from, continuedBy: turn.id };
    changed.push({ kind: 'turn', turn: ended, before: continued });
  }
  return [...changed, { kind: 'conversation', conversation: moved, before }, { kind: 'turn', turn, before: undefined }];
};
