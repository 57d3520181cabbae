import { askModel, type StepEnd } from './ask-model.ts';
import { createCaller } from './call-tool.ts';
import { type ChatRequest, ModelProblem } from './chat-model.ts';
import { isContextFull, summarise } from './compaction.ts';
import { costOf } from './cost.ts';
import { historyOf } from './history.ts';
import { createLoopGuard } from './loop-guard.ts';
import type { AssistantMessage, MessageError } from './message.ts';
import { endedByServer, messageErrorOf, RunAborted } from './message-error.ts';
import { messageFact } from './opened-message.ts';
import { partFact } from './part-facts.ts';
import { type Fact, joined } from './publisher.ts';
import { createStepParts, type StepParts } from './step-parts.ts';
import type { Told } from './store.ts';
import type { TurnAsked, TurnNeeds } from './turn.ts';

const LAST_STEP = 'This is the last step of this turn, and no tools are left. Answer with what is known.';
const LOOPING = endedByServer('The model made the same call again and again');
const OUT_OF_STEPS = endedByServer('The turn took all the steps it may, and the model asked for more');

const isExpected = (error: unknown): boolean => error instanceof ModelProblem || error instanceof RunAborted;

/**
 * Takes the steps of one turn: asks the model, makes the calls it asks for, and closes the message that was opened for the
 * step. Answers with that message when the turn is over after it.
 */
export const createStep = (needs: TurnNeeds, asked: TurnAsked, signal: AbortSignal) => {
  const { clock, ids, publish, store } = needs;
  const { session, user, voice, tools, ruling } = asked;
  const sessionID = session.id;
  const { directory } = session;
  const said = () => store.messages(sessionID);
  const guard = createLoopGuard();
  const caller = createCaller({ ...needs, directory, agent: voice.agent.name, tools, ruling, guard, said });
  const system = [voice.agent.prompt, user.system ?? ''].filter((text) => text !== '').join('\n\n');

  const close = async (
    message: AssistantMessage,
    { last = {}, error }: { readonly last?: Fact; readonly error?: MessageError },
  ): Promise<AssistantMessage> => {
    const time = { ...message.time, completed: clock.now() };
    const closed: AssistantMessage = { ...message, time, ...(error === undefined ? {} : { error, finish: 'error' }) };
    const told: Fact =
      error === undefined ? {} : { drafts: [{ type: 'session.error', properties: { sessionID, error } }] };
    await publish(joined(last, messageFact(closed), told));
    return closed;
  };
  const requestFor = (messages: readonly Told[], isLast: boolean): ChatRequest => ({
    target: voice.model.target,
    system: isLast ? `${system}\n\n${LAST_STEP}`.trim() : system,
    messages: historyOf(messages, user.id),
    tools: isLast ? [] : tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    sessionID,
  });
  const makeRoom = async (messages: readonly Told[]): Promise<readonly Told[]> => {
    await summarise({ ...needs, said: messages }, asked, signal);
    return said();
  };
  /** A summary that cannot be had before it must be is done without. */
  const makeRoomIfFull = async (messages: readonly Told[]): Promise<readonly Told[]> => {
    if (!isContextFull(messages, voice.model.usableTokens)) return messages;
    return makeRoom(messages).catch((error: unknown) => {
      if (error instanceof ModelProblem) return messages;
      throw error;
    });
  };
  const ask = async (parts: StepParts, isLast: boolean): Promise<StepEnd> => {
    const before = await said();
    const messages = await makeRoomIfFull(before);
    try {
      return await askModel(needs, { request: requestFor(messages, isLast), parts }, signal);
    } catch (error) {
      const isTooLong = error instanceof ModelProblem && error.kind === 'overflow';
      if (!isTooLong || messages !== before) throw error;
      await publish(parts.end('The step was begun anew', true));
      return askModel(needs, { request: requestFor(await makeRoom(before), isLast), parts }, signal);
    }
  };
  return async (message: AssistantMessage, isLast: boolean): Promise<AssistantMessage | undefined> => {
    const messageID = message.id;
    const parts = createStepParts({ ids, clock, sessionID, messageID });
    let spent = message;
    try {
      const { finish, tokens } = await ask(parts, isLast);
      const cost = costOf(tokens, voice.model.prices);
      spent = { ...message, cost, tokens, finish };
      await needs.account({ tokens, cost });
      const calls = parts.handOver();
      const called = isLast ? await caller.none(calls) : await caller.all(calls, signal);
      const part = {
        id: ids('part'),
        sessionID,
        messageID,
        type: 'step-finish',
        reason: finish,
        cost,
        tokens,
      } as const;
      const last = partFact(part, clock.now());
      if (called === 'looping') return await close(spent, { last, error: LOOPING });
      if (isLast && calls.length > 0) return await close(spent, { last, error: OUT_OF_STEPS });
      const closed = await close(spent, { last });
      return calls.length > 0 && called === 'done' ? undefined : closed;
    } catch (error) {
      if (!isExpected(error)) needs.onBug(error);
      const last = parts.end(signal.aborted ? 'The call was aborted' : 'The answer failed', false);
      return close(spent, { last, error: messageErrorOf(error, voice.model.ref.providerID) });
    }
  };
};
