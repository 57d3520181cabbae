import type { Conversation, Turn } from '../protocol/turns.ts';
import { deleteFamily } from '../session/family.ts';
import type { SessionParts } from '../session/sessions.ts';
import { requireTurn } from './records.ts';
import { turnRefusal } from './refusals.ts';

const TURNS_AT_ONCE = 200;

/** Removes a turn; its session as well if it was the last one of a conversation that no client has created. */
export const forgetTurn = async (needs: SessionParts, turn: Turn): Promise<void> => {
  const { store } = needs;
  const { owner, conversationID, sessionID } = turn;
  const conversation = await store.turns.conversation(owner, conversationID);
  const newest = await store.turns.ofConversation(owner, conversationID, { limit: 2 });
  const isLast = newest.every(({ id }) => id === turn.id) && conversation?.isOfClient !== true;
  if (isLast && (await store.session(sessionID)) !== undefined) await deleteFamily(needs, sessionID);
  await store.commit([{ kind: 'turn-removed', turnID: turn.id }], []);
};

/** The same for a client, who may not remove what is under way. */
export const deleteTurn = async (needs: SessionParts, owner: string, id: string): Promise<void> => {
  const turn = await requireTurn(needs.store, owner, id);
  const owed = await needs.store.owed(turn.sessionID);
  if (turn.until === undefined && owed.some(({ promptID }) => promptID === turn.promptID))
    throw turnRefusal('turn_running');
  await forgetTurn(needs, turn);
};

/** Removes a conversation with all sessions in which it was. What runs there is aborted. */
export const deleteConversation = async (
  needs: SessionParts,
  { id, owner, sessionID }: Conversation,
): Promise<void> => {
  const { store } = needs;
  const sessionIDs = new Set([sessionID]);
  for (let beforeID: string | undefined; ; ) {
    const page = { limit: TURNS_AT_ONCE, ...(beforeID === undefined ? {} : { beforeID }) };
    const turns = await store.turns.ofConversation(owner, id, page);
    for (const turn of turns) sessionIDs.add(turn.sessionID);
    beforeID = turns.at(-1)?.id;
    if (turns.length < TURNS_AT_ONCE) break;
  }
  for (const one of sessionIDs) if ((await store.session(one)) !== undefined) await deleteFamily(needs, one);
  await store.commit([{ kind: 'conversation-removed', conversationID: id }], []);
};
