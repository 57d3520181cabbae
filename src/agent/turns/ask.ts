import { joinPublications, type Publication } from '../events/publisher.ts';
import type { GivenMessage } from '../protocol/given-messages.ts';
import type { Turn } from '../protocol/turns.ts';
import type { Session, UserMessage } from '../protocol/types.ts';
import { responderFor } from '../session/prompt.ts';
import type { StoreChange } from '../store/store.ts';
import { type ImportedMessages, importMessages } from './history/import.ts';
import type { Located } from './locate.ts';
import { type BeginAttempt, type Begun, createTurn, type TurnNeeds, turnChanges } from './new-turn.ts';
import { openRequestsOf } from './output/view.ts';
import { changeTurn, givenUp } from './records.ts';
import { turnRefusal } from './refusals.ts';
import { type AskedTurn, chainWith } from './request.ts';

/** Of one session: besides the one that runs. */
const PROMPTS_LIMIT = 16;
/** Size of one commit: larger ones would hold up other writers. */
const GROUP_CHARS = 1024 * 1024;

/** A prompt that waits for a person ends where the user goes on without deciding. */
const makeRoom = async (
  needs: TurnNeeds,
  sessionID: string,
  ifWaiting: AskedTurn['body']['ifWaiting'],
): Promise<void> => {
  const { store, runs } = needs;
  const owed = await store.owed(sessionID);
  if (owed.filter(({ isBegun }) => !isBegun).length >= PROMPTS_LIMIT) throw turnRefusal('conversation_full');
  const running = owed.find(({ isBegun }) => isBegun);
  if (running === undefined) return;
  const waiting = (await store.turns.ofPrompt(sessionID, running.promptID)).at(-1);
  // Its client has gone on, so nobody comes back for it. A reader whose connection has just broken may.
  const now = needs.clock.now();
  const isLeft = ({ readers, leftMs = now + 1, abortAfterMs }: Turn): boolean =>
    readers.length === 0 && leftMs <= now && abortAfterMs !== null;
  const giveUp = (turn: Turn): Turn => (isLeft(turn) ? givenUp(turn, now) : turn);
  if (waiting !== undefined && isLeft(waiting) && isLeft(await changeTurn(store, waiting, giveUp)))
    return runs.abort(sessionID, running.promptID).then(() => {});
  if ((await openRequestsOf(needs, sessionID)).length === 0) return;
  if (ifWaiting === 'refuse' && waiting !== undefined) throw turnRefusal('turn_waiting', { turnID: [waiting.id] });
  await runs.abort(sessionID, running.promptID);
};

/** The messages of a request that its session does not have, as they are stored in it after `lastID`. */
const importRest = (
  needs: TurnNeeds,
  { request: { body }, session }: { readonly request: AskedTurn; readonly session: Session },
  messages: readonly GivenMessage[],
  lastID?: string,
): ImportedMessages => {
  const { agent, model } = responderFor(needs.catalog, session, body);
  return importMessages(needs, messages, { session, agent: agent.name, model, now: needs.clock.now(), lastID });
};

const storeAhead = async (
  { store }: TurnNeeds,
  { session, opened }: Located,
  { publications }: ImportedMessages,
): Promise<void> => {
  if (opened === 'new') await store.commit([{ kind: 'session-begun', session }], []);
  let group: StoreChange[] = [];
  let chars = 0;
  for (const { changes = [] } of publications) {
    group.push(...changes);
    chars += JSON.stringify(changes).length;
    if (chars < GROUP_CHARS) continue;
    await store.commit(group, []);
    group = [];
    chars = 0;
  }
  if (group.length > 0) await store.commit(group, []);
};

/** Stores a session that was prepared, without a prompt, and hides it until it is published. */
export const storePrepared = (needs: TurnNeeds, request: AskedTurn, located: Located): Promise<void> =>
  storeAhead(needs, located, importRest(needs, { request, session: located.session }, located.rest));

const sizeOf = (messages: readonly GivenMessage[]): number =>
  messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

/** The messages before a prompt: stored in its commit, or ahead of it in a session that is hidden until then. */
const createEarlier = async (
  needs: TurnNeeds,
  { request, located }: { readonly request: AskedTurn; readonly located: Located },
  messages: readonly GivenMessage[],
) => {
  const { session, opened } = located;
  let imported: ImportedMessages = { publications: [], messageIDs: [], lastID: undefined };
  const isAhead = opened !== undefined && sizeOf(messages) > GROUP_CHARS;
  if (isAhead) {
    imported = importRest(needs, { request, session }, messages);
    await storeAhead(needs, located, imported);
  }
  return {
    messageIDs: () => imported.messageIDs,
    earlier(lastID: string | undefined) {
      if (isAhead || messages.length === 0) return { publication: {}, lastID: imported.lastID ?? lastID };
      imported = importRest(needs, { request, session }, messages, lastID);
      const { changes = [], drafts } = joinPublications(...imported.publications);
      // Of a session that is created, clients read the messages.
      const publication: Publication = opened === undefined ? { changes, drafts: drafts ?? [] } : { changes };
      return { publication, lastID: imported.lastID };
    },
  };
};

/** Stores a prompt, with the turn that answers it. */
export const ask = async (
  needs: TurnNeeds,
  request: AskedTurn,
  located: Located,
  { reader, released, span, signal }: BeginAttempt,
): Promise<Begun> => {
  const { body, questions, results } = request;
  const { session, opened, conversation } = located;
  const question = questions.at(-1);
  if (question === undefined) throw turnRefusal('unknown_call');
  // A conversation that moves to another session leaves one in which something may run or wait.
  const leftID = opened === undefined ? session.id : located.before?.sessionID;
  if (leftID !== undefined) await makeRoom(needs, leftID, body.ifWaiting);
  const chain = await needs.runInSlices(chainWith(request, located.chain, needs.digest), signal);
  const isOfHistory = opened === 'new' ? results : [];
  const messages = [...located.rest, ...isOfHistory, ...questions.slice(0, -1)];
  const before = await createEarlier(needs, { request, located }, messages);
  const id = needs.ids('turn');
  const turnOf = (user: UserMessage): Turn => {
    const place = { sessionID: session.id, promptID: user.id, conversationID: conversation.id };
    const messageIDs = [...before.messageIDs(), user.id];
    return createTurn(request, { ...place, id, from: 0, messageIDs, createdMs: needs.clock.now(), chain, reader });
  };
  const { agent, model, variant, system, format, clientTools, tools } = body;
  const parts = [...question.parts];
  const prompt = { parts, agent, model, variant, system, format, clientTools, tools };
  let turn: Turn | undefined;
  const accepted = await needs.acceptPrompt(session.id, prompt, {
    isOwed: true,
    opened: opened === undefined ? undefined : session,
    earlier: before.earlier,
    also(user) {
      turn = turnOf(user);
      return { changes: turnChanges(turn, located, { released }) };
    },
  });
  const { user } = accepted;
  const stored = { turn: turn ?? turnOf(user), conversationName: conversation.name, user };
  return {
    outcome: 'begun',
    reader,
    facts: { ...stored, steps: [], last: undefined, answer: 'owed', awaited: [], waiting: [] },
    isFresh: true,
    start: () => void needs.runs.run(accepted.session, user, { asksForAnswer: true, span }).catch(needs.onBug),
  };
};
