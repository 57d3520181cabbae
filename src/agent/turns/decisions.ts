import type { Turn } from '../protocol/turns.ts';
import { readAncestors, topSession } from '../session/family.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { DecisionsBody, TurnBody } from './body.ts';
import { turnRefusal } from './refusals.ts';

type DecisionNeeds = {
  readonly store: Pick<Store, 'turns' | 'sessionsByID' | 'owed'>;
  readonly approvals: Pick<Approvals, 'open' | 'reply'>;
};
type Decisions = DecisionsBody['decisions'];

/** The session in whose family all of these requests are open. */
const sessionOf = async ({ store, approvals }: DecisionNeeds, decisions: Decisions): Promise<string> => {
  const open = await approvals.open();
  const requests = open.filter(({ id }) => decisions.some(({ requestID }) => requestID === id));
  if (requests.length < new Set(decisions.map(({ requestID }) => requestID)).size) throw turnRefusal('no_such_request');
  const sessionIDs = requests.map(({ sessionID }) => sessionID);
  const known = await readAncestors(store, sessionIDs);
  const tops = new Set(
    sessionIDs.map((id) => {
      const session = known.get(id);
      return session && topSession(session, known).id;
    }),
  );
  const [top] = tops;
  if (tops.size !== 1 || top === undefined) throw turnRefusal('no_such_request');
  return top;
};

const isInConversation = async (
  { store }: DecisionNeeds,
  { owner, conversationID }: Turn,
  asked: TurnBody['conversation'],
): Promise<boolean> => {
  if (asked === undefined) return true;
  if ('id' in asked) return asked.id === conversationID;
  if ('after' in asked) return (await store.turns.turn(owner, asked.after))?.conversationID === conversationID;
  return (await store.turns.conversationByName(owner, asked.name))?.id === conversationID;
};

/** The turn of an owner that waits for decisions; a turnRefusal where a request is not open, or of another conversation. */
export const findDecided = async (
  needs: DecisionNeeds,
  owner: string,
  { decisions, conversation }: Pick<TurnBody, 'decisions' | 'conversation'>,
): Promise<Turn> => {
  const sessionID = await sessionOf(needs, decisions);
  const running = (await needs.store.owed(sessionID)).find(({ isBegun }) => isBegun);
  const turn = running && (await needs.store.turns.ofPrompt(sessionID, running.promptID)).at(-1);
  if (turn?.owner !== owner || !(await isInConversation(needs, turn, conversation)))
    throw turnRefusal('no_such_request');
  return turn;
};

/** The turns of an owner that wait for decisions. */
export const waitingTurns = async (
  { store, approvals }: Omit<DecisionNeeds, 'approvals'> & { readonly approvals: Pick<Approvals, 'open'> },
  owner: string,
): Promise<readonly Turn[]> => {
  const sessionIDs = (await approvals.open()).map(({ sessionID }) => sessionID);
  const known = await readAncestors(store, sessionIDs);
  const tops = new Set(
    sessionIDs.flatMap((id) => {
      const session = known.get(id);
      return session === undefined ? [] : [topSession(session, known).id];
    }),
  );
  const turns: Turn[] = [];
  for (const sessionID of tops) {
    const running = (await store.owed(sessionID)).find(({ isBegun }) => isBegun);
    const turn = running && (await store.turns.ofPrompt(sessionID, running.promptID)).at(-1);
    if (turn?.owner === owner) turns.push(turn);
  }
  return turns;
};

/** Replies to all of them. One that was decided meanwhile stays as it was decided. */
export const replyToAll = async (
  { approvals }: Pick<DecisionNeeds, 'approvals'>,
  decisions: Decisions,
  by: string,
): Promise<void> => {
  for (const { requestID, reply, message } of decisions)
    await approvals.reply(
      requestID,
      reply === 'once' ? { reply, by } : { reply, by, ...(message === undefined ? {} : { message }) },
    );
};
