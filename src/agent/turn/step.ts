import { joinPublications, type Publication } from '../events/publisher.ts';
import { messagePublication, partPublication, sessionErrorPublication } from '../events/records.ts';
import { costOf } from '../model/cost.ts';
import type { AssistantMessage, MessageError, ToolPart } from '../protocol/types.ts';
import { readMessagePages } from '../session/message-shapes.ts';
import { sessionBytes } from '../session/sessions.ts';
import { type CallEnd, createCallRunner, LATE, OVER } from '../tools/call.ts';
import { createLoopGuard } from '../tools/loop-guard.ts';
import type { RequestedCall } from '../tools/tool.ts';
import { handToClient, withoutClientTools } from './client-tools.ts';
import { isExpectedEnd, serverEndedTurn, toMessageError, withStoredUsage } from './errors.ts';
import { createResponseParts } from './response-parts.ts';
import { isOutputTool, requestOutput, type TurnSteps } from './step-request.ts';
import type { TurnMessages } from './turn-messages.ts';
import type { TurnContext, TurnRequest } from './types.ts';

const LOOPING = serverEndedTurn('The model made the same call again and again');
const OUT_OF_STEPS = serverEndedTurn('The turn took all the steps it may, and the model asked for more');

/** How a step's message is closed. */
type Closing = {
  readonly last: Publication;
  readonly error?: MessageError | undefined;
  /** The answer as a value, where one was asked for. */
  readonly structured?: { readonly value: unknown } | undefined;
  /** Whether the turn ends with this message; false when another step follows. */
  readonly isEnd?: boolean;
  /** The calls with whose results the turn goes on; none: it does not. */
  readonly awaited?: readonly ToolPart[];
  /** Publishes the closed message, together with more where that is needed. */
  readonly publishEnd?: (fact: Publication) => Promise<unknown>;
};

/** A step: its message, and whether it is the last one that the turn may take. */
type Step = { readonly message: AssistantMessage; readonly isLast: boolean };

/** Closes the message of a step. */
const close = async (
  steps: TurnSteps,
  message: AssistantMessage,
  { last, error, structured, isEnd = true, awaited = [], publishEnd = steps.publish }: Closing,
): Promise<AssistantMessage> => {
  const time = { ...message.time, completed: steps.clock.now() };
  const value = structured === undefined ? {} : { structured: structured.value, finish: 'stop' as const };
  const failure = error === undefined ? {} : { error, finish: 'error' as const };
  const closed: AssistantMessage = { ...message, time, ...value, ...failure };
  const failed = error === undefined ? {} : sessionErrorPublication(message.sessionID, error);
  const over = isEnd && awaited.length === 0 ? withoutClientTools(steps.user) : {};
  const answer = error === undefined ? { texts: steps.texts, structured, calls: awaited } : undefined;
  const end = joinPublications(messagePublication(closed), failed, over, isEnd ? await steps.atEnd(answer) : {});
  await publishEnd(joinPublications(last, end)).catch(async (reason: unknown) => {
    if (error === undefined) throw reason;
    // The last output could not be stored. The message must be closed all the same.
    steps.onBug(reason);
    await steps.publish(end);
  });
  return closed;
};

/** In the last step no call is made any more, except that of the value. */
const runCalls = async (steps: TurnSteps, requested: readonly RequestedCall[], isLast: boolean): Promise<CallEnd> => {
  const { calls, signal } = steps;
  if (!isLast) return calls.runAll(requested, signal);
  const { own = [], others = [] } = Object.groupBy(requested, ({ part }) =>
    isOutputTool(steps, part.tool) ? 'own' : 'others',
  );
  await calls.refuse(others, LATE);
  return calls.runAll(own, signal);
};

type TurnEnd = Pick<Closing, 'error' | 'structured'> & { readonly isEnd: boolean };

/** Whether the turn ends with a step of these calls, and how. */
const endOfCalls = ({ output }: TurnSteps, end: CallEnd, isLast: boolean): TurnEnd => {
  const structured = output?.value();
  if (structured !== undefined) return { structured, isEnd: true };
  const exhausted = output === undefined && isLast ? OUT_OF_STEPS : output?.failure(isLast);
  const error = end === 'looping' ? LOOPING : exhausted;
  return { error, isEnd: error !== undefined || end !== 'done' };
};

/** The same for a step without calls: its text is the answer, if no value was asked for. */
const endOfText = ({ output }: TurnSteps, text: string, isLast: boolean): TurnEnd => {
  if (output === undefined) return { isEnd: true };
  output.takeText(text);
  const structured = output.value();
  if (structured !== undefined) return { structured, isEnd: true };
  const error = output.failure(isLast);
  return { error, isEnd: error !== undefined };
};

/** Ends the turn for now: the results of these calls begin it again. */
const pauseTurn = (
  steps: TurnSteps,
  message: AssistantMessage,
  { calls, finished }: { readonly calls: readonly RequestedCall[]; readonly finished: Publication },
): Promise<AssistantMessage> => {
  const handover = { messageID: message.id, now: steps.clock.now(), timeoutMs: steps.clientToolTimeoutMs };
  const { awaitedCalls, publication } = handToClient(calls, handover);
  return close(steps, message, {
    last: joinPublications(publication, finished),
    awaited: calls.map(({ part }) => part),
    publishEnd: (closing) =>
      steps.changeSession(
        (now) => ({ ...now, awaitedCalls }),
        (changed) => joinPublications(changed, closing),
      ),
  });
};

/** The part with which a step ends. */
const stepFinish = (
  { ids, clock }: TurnSteps,
  { id: messageID, sessionID, cost, tokens, finish = 'unknown' }: AssistantMessage,
): Publication => {
  const location = { id: ids('part'), sessionID, messageID };
  return partPublication({ ...location, type: 'step-finish', reason: finish, cost, tokens }, clock.now());
};

/** Calls for the client that were not handed over, when their step has failed. */
const unmadeCalls = (calls: readonly RequestedCall[], why: string, now: number): Publication =>
  joinPublications(
    ...calls.map(({ part }) => {
      const { input } = part.state;
      const state = { status: 'error' as const, input, error: why, time: { start: now, end: now } };
      return partPublication({ ...part, state }, now);
    }),
  );

const takeStep = async (steps: TurnSteps, { message, isLast }: Step): Promise<AssistantMessage | undefined> => {
  const { clock, ids, signal, clientTools, output } = steps;
  const { id: messageID, sessionID } = message;
  const parts = createResponseParts({ ids, clock, sessionID, messageID, clientTools: clientTools.names });
  /** Calls for the client that have neither ended nor been handed over. */
  let forClient: readonly RequestedCall[] = [];
  /** Has a cost only once the session has it too. */
  let accounted = message;
  try {
    // Until the model has answered. Tools may take long, and what is kept meanwhile goes when others need the memory.
    const { finish, tokens, unpublished } = await steps.messages.use(signal, (before, onSent) =>
      requestOutput(steps, before, { parts, onSent, isLast }),
    );
    steps.texts.push(...parts.texts());
    const cost = costOf(tokens, steps.responder.model.prices);
    const finished = { ...message, cost, tokens, finish };
    const account = (closing: Publication) =>
      steps.addUsage({ tokens, cost }, (changed) => joinPublications(unpublished, changed, closing));
    if (!parts.hasCalls()) {
      const end = endOfText(steps, parts.text(), isLast);
      const closed = await close(steps, finished, { last: stepFinish(steps, finished), publishEnd: account, ...end });
      return end.isEnd ? closed : undefined;
    }
    // With the session, because a server that dies while the calls run leaves its message as it is stored now.
    await account({ changes: [{ kind: 'message', message: { ...message, cost, tokens } }] });
    accounted = finished;
    const requested = parts.takeCalls();
    output?.takeUnreadable(requested);
    const { own, awaited, refused } = clientTools.sort(requested, isLast);
    forClient = [...awaited, ...refused.map(({ call }) => call)];
    for (const { call, why } of refused) await steps.calls.refuse([call], why);
    forClient = awaited;
    const end = endOfCalls(steps, await runCalls(steps, own, isLast), isLast && awaited.length === 0);
    if (awaited.length > 0 && !end.isEnd)
      return await pauseTurn(steps, finished, { calls: awaited, finished: stepFinish(steps, finished) });
    await steps.calls.refuse(awaited, OVER);
    forClient = [];
    const closed = await close(steps, finished, { last: stepFinish(steps, finished), ...end });
    return end.isEnd ? closed : undefined;
  } catch (error) {
    if (!isExpectedEnd(error)) steps.onBug(error);
    const why = signal.aborted ? 'The call was aborted' : 'The answer failed';
    const last = joinPublications(parts.end(why, false), unmadeCalls(forClient, why, clock.now()));
    const left = await withStoredUsage(steps, accounted, error);
    return close(steps, left, { last, error: toMessageError(error, steps.responder.model.ref.providerID) });
  }
};

/**
 * Takes the steps of one turn: calls the model, runs the tools it requests, and closes the message that was opened for the
 * step. Returns that message when the turn ends with it.
 */
export const createStep = (
  context: TurnContext & { readonly messages: TurnMessages },
  request: TurnRequest,
  signal: AbortSignal,
) => {
  const { store } = context;
  const { id: sessionID, directory } = request.session;
  const calls = createCallRunner({
    ...context,
    directory,
    agent: request.responder.agent.name,
    tools: request.tools,
    currentAction: request.currentAction,
    guard: createLoopGuard(),
    clientTools: request.clientTools.names,
    storedBytes: () => sessionBytes(store, sessionID),
    readMessages: () => readMessagePages(store, sessionID),
  });
  const steps: TurnSteps = { ...context, ...request, signal, calls, texts: [], hasSummaryFailed: false };
  return (step: Step): Promise<AssistantMessage | undefined> => takeStep(steps, step);
};
