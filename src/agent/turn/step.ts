import { joinPublications, type Publication } from '../events/publisher.ts';
import { messagePublication, partPublication, sessionErrorPublication } from '../events/records.ts';
import { costOf } from '../model/cost.ts';
import { ModelError, type ModelMessage, type ModelRequest, type ToolSpec } from '../model/types.ts';
import type { AssistantMessage, MessageError, ToolPart } from '../protocol/types.ts';
import { readMessagePages } from '../session/message-shapes.ts';
import { sessionBytes, sessionLimitBytes } from '../session/sessions.ts';
import type { MessageWithParts } from '../store/store.ts';
import { type CallEnd, createCallRunner } from '../tools/call.ts';
import { createLoopGuard } from '../tools/loop-guard.ts';
import type { RequestedCall } from '../tools/tool.ts';
import { handToClient, withoutClientTools } from './client-tools.ts';
import { isContextFull, summarise } from './compaction.ts';
import { isExpectedEnd, serverEndedTurn, toMessageError } from './errors.ts';
import { toModelHistory } from './history.ts';
import { callModel, type ModelCallResult } from './model-call.ts';
import { createResponseParts, type ResponseParts } from './response-parts.ts';
import { withStoredUsage } from './stored-usage.ts';
import type { TurnMessages } from './turn-messages.ts';
import type { TurnContext, TurnRequest } from './types.ts';

const LAST_STEP = 'This is the last step of this turn, and no tools are left. Answer with what is known.';
const LAST_CALL = 'This is the last step of this turn. Answer with what is known.';
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

/**
 * Takes the steps of one turn: calls the model, runs the tools it requests, and closes the message that was opened for the
 * step. Returns that message when the turn ends with it.
 */
export const createStep = (
  needs: TurnContext & { readonly messages: Pick<TurnMessages, 'use' | 'read'> },
  request: TurnRequest,
  signal: AbortSignal,
) => {
  const { clock, ids, publish, store, onBug } = needs;
  const { session, user, responder, tools, clientTools, output, currentAction } = request;
  const sessionID = session.id;
  const guard = createLoopGuard();
  const callRunner = createCallRunner({
    clock,
    ids,
    approvals: needs.approvals,
    outputLimits: needs.outputLimits,
    metrics: needs.metrics,
    span: needs.span,
    storedBytes: () => sessionBytes(store, sessionID),
    sessionLimitBytes: sessionLimitBytes(needs.budget),
    publish,
    onBug,
    directory: session.directory,
    agent: responder.agent.name,
    tools,
    currentAction,
    guard,
    clientTools: clientTools.names,
    readMessages: () => readMessagePages(store, sessionID),
  });
  const ownSpecs = tools.map(({ name, description, inputSchema }): ToolSpec => ({ name, description, inputSchema }));
  const specs = [...ownSpecs, ...clientTools.specs];
  /** The last step ends with a call too: of the value, or of a client tool. */
  const isCallWanted = output !== undefined || clientTools.isForced;
  const outputNames = new Set(output?.tools.map(({ name }) => name));
  // Not a part of the agent's prompt, which a summary may be asked for with.
  const instruction = output?.instruction ?? '';
  const system = [responder.agent.prompt, instruction, user.system ?? ''].filter((text) => text !== '').join('\n\n');

  /** Of all steps. */
  const texts: string[] = [];
  const close = async (
    message: AssistantMessage,
    { last, error, structured, isEnd = true, awaited = [], publishEnd = publish }: Closing,
  ): Promise<AssistantMessage> => {
    const time = { ...message.time, completed: clock.now() };
    const value = structured === undefined ? {} : { structured: structured.value, finish: 'stop' as const };
    const failure = error === undefined ? {} : { error, finish: 'error' as const };
    const closed: AssistantMessage = { ...message, time, ...value, ...failure };
    const failed = error === undefined ? {} : sessionErrorPublication(sessionID, error);
    const over = isEnd && awaited.length === 0 ? withoutClientTools(user) : {};
    const answer = error === undefined ? { texts, structured, calls: awaited } : undefined;
    const end = joinPublications(messagePublication(closed), failed, over, isEnd ? await needs.atEnd(answer) : {});
    await publishEnd(joinPublications(last, end)).catch(async (reason: unknown) => {
      if (error === undefined) throw reason;
      // The last output could not be stored. The message must be closed all the same.
      onBug(reason);
      await publish(end);
    });
    return closed;
  };
  /** Where a value or a call of the client's is asked for, each step has to end in a call, the last one in that very one. */
  const toolsFor = (isLast: boolean): Pick<ModelRequest, 'tools' | 'toolChoice'> => {
    if (clientTools.isForced) {
      const others = ownSpecs.filter(({ name }) => !outputNames.has(name));
      return { tools: isLast ? clientTools.specs : [...others, ...clientTools.specs], toolChoice: clientTools.forced };
    }
    if (outputNames.size === 0) return { tools: specs, ...(isLast ? { toolChoice: 'none' } : {}) };
    return { tools: isLast ? specs.filter(({ name }) => outputNames.has(name)) : specs, toolChoice: 'required' };
  };
  let reminder: readonly ModelMessage[] = [];
  const requestFor = (messages: readonly MessageWithParts[], isLast: boolean): ModelRequest => ({
    target: responder.model.target,
    system: isLast ? `${system}\n\n${isCallWanted ? LAST_CALL : LAST_STEP}`.trim() : system,
    messages: [...toModelHistory(messages, user.id, responder.model.media), ...reminder],
    ...toolsFor(isLast),
    sessionID,
  });
  const compact = async (messages: readonly MessageWithParts[]): Promise<readonly MessageWithParts[]> => {
    await summarise(needs, { asked: request, history: messages }, signal);
    return needs.messages.read();
  };
  let hasSummaryFailed = false;
  /** If a summary fails before the context is really exceeded, the turn goes on without one. */
  const compactIfFull = async (messages: readonly MessageWithParts[]): Promise<readonly MessageWithParts[]> => {
    if (hasSummaryFailed || !isContextFull(messages, responder.model.usableTokens)) return messages;
    return compact(messages).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error;
      hasSummaryFailed = true;
      return messages;
    });
  };
  const requestOutput = async (
    before: readonly MessageWithParts[],
    { parts, onSent }: { readonly parts: ResponseParts; readonly onSent: () => void },
    isLast: boolean,
  ): Promise<ModelCallResult> => {
    const messages = await compactIfFull(before);
    try {
      return await callModel(needs, { request: requestFor(messages, isLast), parts, onSent }, signal);
    } catch (error) {
      const isTooLong = error instanceof ModelError && error.kind === 'overflow';
      if (!isTooLong || messages !== before) throw error;
      await publish(parts.end('The step was restarted', true));
      return callModel(needs, { request: requestFor(await compact(before), isLast), parts, onSent }, signal);
    }
  };
  /** In the last step no call is made any more, except that of the value. */
  const runCalls = async (calls: readonly RequestedCall[], isLast: boolean): Promise<CallEnd> => {
    if (!isLast) return callRunner.runAll(calls, signal);
    const { own = [], others = [] } = Object.groupBy(calls, ({ part }) =>
      outputNames.has(part.tool) ? 'own' : 'others',
    );
    await callRunner.refuseAll(others);
    return callRunner.runAll(own, signal);
  };
  /** Whether the turn ends with a step of these calls, and how. */
  const endOfCalls = (end: CallEnd, isLast: boolean): Pick<Closing, 'error' | 'structured' | 'isEnd'> => {
    const structured = output?.value();
    if (structured !== undefined) return { structured, isEnd: true };
    const exhausted = output === undefined && isLast ? OUT_OF_STEPS : output?.failure(isLast);
    const error = end === 'looping' ? LOOPING : exhausted;
    return { error, isEnd: error !== undefined || end !== 'done' };
  };
  /** The same for a step without calls: its text is the answer, if no value was asked for. */
  const endOfText = (text: string, isLast: boolean): Pick<Closing, 'error' | 'structured' | 'isEnd'> => {
    if (output === undefined) return { isEnd: true };
    output.takeText(text);
    const structured = output.value();
    if (structured !== undefined) return { structured, isEnd: true };
    const error = output.failure(isLast);
    return { error, isEnd: error !== undefined };
  };
  /** Ends the turn for now: the results of these calls begin it again. */
  const pauseTurn = (
    message: AssistantMessage,
    { calls, finished }: { readonly calls: readonly RequestedCall[]; readonly finished: () => Publication },
  ): Promise<AssistantMessage> => {
    const handover = { messageID: message.id, now: clock.now(), timeoutMs: needs.clientToolTimeoutMs };
    const { awaitedCalls, publication } = handToClient(calls, handover);
    return close(message, {
      last: joinPublications(publication, finished()),
      awaited: calls.map(({ part }) => part),
      publishEnd: (closing) =>
        needs.changeSession(
          (now) => ({ ...now, awaitedCalls }),
          (changed) => joinPublications(changed, closing),
        ),
    });
  };
  return async (message: AssistantMessage, isLast: boolean): Promise<AssistantMessage | undefined> => {
    const messageID = message.id;
    reminder = output?.reminder() ?? [];
    const parts = createResponseParts({ ids, clock, sessionID, messageID, clientTools: clientTools.names });
    /** Calls for the client that have neither ended nor been handed over. */
    let forClient: readonly RequestedCall[] = [];
    /** Has a cost only once the session has it too. */
    let accounted = message;
    try {
      // Until the model has answered. Tools may take long, and what is kept meanwhile goes when others need the memory.
      const { finish, tokens, unpublished } = await needs.messages.use(signal, (before, onSent) =>
        requestOutput(before, { parts, onSent }, isLast),
      );
      texts.push(...parts.texts());
      const cost = costOf(tokens, responder.model.prices);
      const finishedMessage = { ...message, cost, tokens, finish };
      const finished = (): Publication => {
        const location = { id: ids('part'), sessionID, messageID };
        return partPublication({ ...location, type: 'step-finish', reason: finish, cost, tokens }, clock.now());
      };
      const account = (closing: Publication) =>
        needs.addUsage({ tokens, cost }, (changed) => joinPublications(unpublished, changed, closing));
      if (!parts.hasCalls()) {
        const end = endOfText(parts.text(), isLast);
        const closed = await close(finishedMessage, { last: finished(), publishEnd: account, ...end });
        return end.isEnd === true ? closed : undefined;
      }
      // With the session, because a server that dies while the calls run leaves its message as it is stored now.
      await account({ changes: [{ kind: 'message', message: { ...message, cost, tokens } }] });
      accounted = finishedMessage;
      const calls = parts.takeCalls();
      output?.takeUnreadable(calls);
      const { own, awaited, refused } = clientTools.sort(calls, isLast);
      forClient = [...awaited, ...refused.map(({ call }) => call)];
      for (const { call, why } of refused) await callRunner.refuse([call], why);
      forClient = awaited;
      const end = endOfCalls(await runCalls(own, isLast), isLast && awaited.length === 0);
      if (awaited.length > 0 && end.isEnd !== true)
        return await pauseTurn(finishedMessage, { calls: awaited, finished });
      await callRunner.refuseAfterEnd(awaited);
      forClient = [];
      const closed = await close(finishedMessage, { last: finished(), ...end });
      return end.isEnd === true ? closed : undefined;
    } catch (error) {
      if (!isExpectedEnd(error)) onBug(error);
      const why = signal.aborted ? 'The call was aborted' : 'The answer failed';
      const now = clock.now();
      const unmade = forClient.map(({ part }) => {
        const { input } = part.state;
        const state = { status: 'error' as const, input, error: why, time: { start: now, end: now } };
        return partPublication({ ...part, state }, now);
      });
      const last = joinPublications(parts.end(why, false), ...unmade);
      const left = await withStoredUsage(needs, accounted, error);
      return close(left, { last, error: toMessageError(error, responder.model.ref.providerID) });
    }
  };
};
