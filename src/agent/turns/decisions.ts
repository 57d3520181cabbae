import type { PermissionRequest } from '../protocol/permissions.ts';
import type { Turn } from '../protocol/turns.ts';
import type { AgentRuntime } from '../runtime.ts';
import { readAncestors, topSession } from '../session/family.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { DecisionsBody, TurnBody } from './body.ts';
import { turnRefusal } from './refusals.ts';

type DecisionNeeds = AgentRuntime & { readonly approvals: Approvals };
type Decisions = DecisionsBody['decisions'];

/** The highest sessions above those in which these requests are open. */
const topSessions = async (
  { store }: DecisionNeeds,
  requests: readonly PermissionRequest[],
): Promise<ReadonlySet<string>> => {
  const sessionIDs = requests.map(({ sessionID }) => sessionID);
  const known = await readAncestors(store, sessionIDs);
  // One that is gone stands for itself: it has no turn, and belongs to no other session's family.
  return new Set(
    sessionIDs.map((id) => {
      const session = known.get(id);
      return session === undefined ? id : topSession(session, known).id;
    }),
  );
};

/** The session in whose family all of these requests are open. */
const sessionOf = async (needs: DecisionNeeds, decisions: Decisions): Promise<string> => {
  const open = await needs.approvals.open();
  const requests = open.filter(({ id }) => decisions.some(({ requestID }) => requestID === id));
  const [top, ...others] = await topSessions(needs, requests);
  const isMissing = requests.length < new Set(decisions.map(({ requestID }) => requestID)).size;
  if (isMissing || top === undefined || others.length > 0) throw turnRefusal('no_such_request');
  return top;
};

/** The turn that is answered in a session now, if it is one of this owner. */
const runningTurn = async ({ store }: DecisionNeeds, owner: string, sessionID: string): Promise<Turn | undefined> => {
  const running = (await store.owed(sessionID)).find(({ isBegun }) => isBegun);
  const turn = running && (await store.turns.ofPrompt(sessionID, running.promptID)).at(-1);
  return turn?.owner === owner ? turn : undefined;
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
  const turn = await runningTurn(needs, owner, await sessionOf(needs, decisions));
  if (turn === undefined || !(await isInConversation(needs, turn, conversation))) throw turnRefusal('no_such_request');
  return turn;
};

/** The turns of an owner that wait for decisions. */
export const waitingTurns = async (needs: DecisionNeeds, owner: string): Promise<readonly Turn[]> => {
  const tops = await topSessions(needs, await needs.approvals.open());
  const turns = await Promise.all([...tops].map((sessionID) => runningTurn(needs, owner, sessionID)));
  return turns.filter((turn) => turn !== undefined);
};

/** Replies to all of them. One that was decided meanwhile stays as it was decided. */
export const replyToAll = async ({ approvals }: DecisionNeeds, decisions: Decisions, by: string): Promise<void> => {
  for (const { requestID, reply, message } of decisions)
    await approvals.reply(
      requestID,
      reply === 'once' ? { reply, by } : { reply, by, ...(message === undefined ? {} : { message }) },
    );
};
