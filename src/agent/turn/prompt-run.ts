import type { Clock } from '../../core/clock.ts';
import type { Span } from '../../core/http/tracing.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import type { Responder } from '../agents/types.ts';
import { toolPrefix } from '../config/names.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { type Answered, createFailedAnswer, messagePublication, sessionErrorPublication } from '../events/records.ts';
import { addTokens } from '../model/cost.ts';
import { splitThinking } from '../model/think-tags.ts';
import type { ChatModel } from '../model/types.ts';
import { collectRules, type RuleScope } from '../protocol/permission-rules.ts';
import type { AssistantMessage, UserMessage } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { CALL_NOT_AWAITED, endAwaitedCalls } from '../session/awaited-calls.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import type { AnswerPrompt, QueuedPrompt } from '../session/run-queue.ts';
import { isDefaultTitle, type Sessions } from '../session/sessions.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createPermissionActions } from '../tools/permission-check.ts';
import type { TaskTracker } from '../tools/task.ts';
import { type AgentTool, toolsUnderRules } from '../tools/tool.ts';
import { createClientTools } from './client-tools.ts';
import { runSummary } from './compaction.ts';
import { serverEndedTurn, TurnTimeout } from './errors.ts';
import { createFailureLog } from './failure-log.ts';
import { createStructuredOutput } from './structured-output.ts';
import { isSummaryRequest } from './summary-request.ts';
import { nameSession } from './title.ts';
import { runTurn } from './turn.ts';
import type { EndedAnswer, TurnContext, TurnRequest } from './types.ts';

/** A signal that aborts with the run's, or with `TurnTimeout` after `limitMs`. Call `clear` in a `finally`. */
const createTurnDeadline = (
  clock: Clock,
  limitMs: number,
  run: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } => {
  const controller = new AbortController();
  const cancelTimer = clock.after(limitMs, () => controller.abort(new TurnTimeout(limitMs)));
  const onAbort = () => controller.abort(run.reason);
  if (run.aborted) onAbort();
  else run.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    clear() {
      cancelTimer();
      run.removeEventListener('abort', onAbort);
    },
  };
};

/** What answers prompts. */
type Answering = AgentRuntime & {
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly sessions: Sessions;
  /** All tools, after the tool servers had time to connect; each agent sees those that its rules do not hide. */
  readonly tools: (signal: AbortSignal, onWait: () => Promise<unknown>) => Promise<readonly AgentTool[]>;
  /** The instructions that tool servers send for their tools. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  /** Limit for a whole turn. */
  readonly turnTimeoutMs: number;
  readonly taskTracker: TaskTracker;
  /** What is stored with the end of an answer that did not fail. */
  readonly answerEnd: (user: UserMessage, answer: EndedAnswer) => Promise<Publication>;
};

const turnOutcome = ({ error }: AssistantMessage): 'answered' | 'failed' | 'aborted' =>
  error === undefined ? 'answered' : error.name === 'MessageAbortedError' ? 'aborted' : 'failed';

/** Begins the span of a turn, by the conventions for generative AI. */
const beginTurn = ({ span, session, user }: QueuedPrompt): Span | undefined =>
  span?.begin(`invoke_agent ${user.agent}`, 'internal', {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': user.agent,
    'gen_ai.conversation.id': session.id,
    'gen_ai.provider.name': user.model.providerID,
    'gen_ai.request.model': user.model.modelID,
  });

/** The instructions that the servers of these tools give, for the model. */
const instructionsFor = ({ instructions }: Answering, tools: readonly AgentTool[]): readonly string[] =>
  instructions()
    .filter(({ server }) => tools.some(({ name }) => name.startsWith(toolPrefix(server))))
    .map(({ server, text }) => `Instructions of the tool server ${server} for its tools:\n${text}`);

/** What a turn works with in this session. Everything that it publishes is stored under the lease of the run. */
const createContext = (needs: Answering, prompted: QueuedPrompt, responder: Responder): TurnContext => {
  const { session, user, showStatus, atEnd, leaseID, isUntouched, span } = prompted;
  const { providerID, modelID } = responder.model.ref;
  /** As the turn has seen it last: mostly nothing else changes it meanwhile. */
  let known = session;
  const changeSession: TurnContext['changeSession'] = async (change, within) => {
    known = await needs.sessions.update(session.id, change, (changed) => ({ ...within(changed), leaseID }), known);
  };
  return {
    ...needs,
    ...(responder.model.splitsThinking ? { model: (...request) => splitThinking(needs.model(...request)) } : {}),
    span,
    failures: createFailureLog(needs.log, session.id, `${providerID}/${modelID}`),
    publish: (fact) => needs.publisher.publish(session.directory, { ...fact, leaseID }),
    show: showStatus,
    atEnd: async (answer) =>
      joinPublications(answer === undefined ? {} : await needs.answerEnd(user, answer), await atEnd()),
    isUntouched,
    changeSession,
    addUsage: ({ tokens, cost }, within) =>
      changeSession((now) => ({ ...now, cost: now.cost + cost, tokens: addTokens(now.tokens, tokens) }), within),
  };
};

const runWithTools = async (
  needs: Answering,
  context: TurnContext,
  { session, user, responder }: Answered,
  signal: AbortSignal,
): Promise<AssistantMessage> => {
  const { agent, model } = responder;
  const { compileSchema } = needs;
  const { takesTools } = model;
  const scope: RuleScope = { agent: agent.rules, session, user };
  const all = takesTools ? await needs.tools(signal, () => context.show({ type: 'busy' })) : [];
  const tools = toolsUnderRules(all, collectRules(scope).withoutInheritedAsk);
  const output = user.format && createStructuredOutput(user.format, { compileSchema, takesTools });
  const prompt = [agent.prompt, ...instructionsFor(needs, tools)].join('\n\n');
  const ownNames = [...all, ...(output?.tools ?? [])].map(({ name }) => name);
  const request: TurnRequest = {
    session,
    user,
    clientTools: createClientTools(user.clientTools, { ownNames, compileSchema, takesTools }),
    responder: { ...responder, agent: { ...agent, prompt } },
    tools: [...tools, ...(output?.tools ?? [])],
    output,
    currentAction: createPermissionActions(needs, needs.taskTracker)(scope),
  };
  return runTurn(context, request, signal);
};

const answer = async (
  needs: Answering,
  prompted: QueuedPrompt,
  responder: Responder,
  signal: AbortSignal,
): Promise<AssistantMessage> => {
  const { session, user, asksForAnswer } = prompted;
  const context = createContext(needs, prompted, responder);
  const answered = { session, user, responder };
  const stored = asksForAnswer ? undefined : await needs.store.message(session.id, user.id);
  const message = await (stored !== undefined && isSummaryRequest(stored)
    ? runSummary(context, answered, signal)
    : runWithTools(needs, context, answered, signal));
  context.failures.onEnd(message);
  return message;
};

/** Answers a prompt of an earlier process with an error. Another agent could be one that may do more. */
const refuse = async (
  needs: Answering,
  { session, user, atEnd, leaseID }: QueuedPrompt,
  missing: 'agent' | 'model',
): Promise<AssistantMessage> => {
  const { catalog, clock, log, publisher } = needs;
  const { providerID, modelID } = user.model;
  const model = `${providerID}/${modelID}`;
  const [name, known] =
    missing === 'agent'
      ? [user.agent, [...catalog.agents.keys()]]
      : [model, catalog.models.filter((one) => one !== model)];
  const reason = notConfiguredText(missing, name, known);
  const error = serverEndedTurn(
    `The server was restarted with another configuration: ${reason}. Send the prompt again`,
  );
  const id = await createMessageIDs(needs)(session.id);
  const message = createFailedAnswer({ session, user }, { id, now: clock.now(), error });
  const failed = sessionErrorPublication(session.id, error);
  const publication = joinPublications(messagePublication(message), failed, await atEnd());
  await publisher.publish(session.directory, { ...publication, leaseID });
  createFailureLog(log, session.id, model).onEnd(message);
  return message;
};

/** Answers prompts with the agents, models and tools of the configuration. */
export const createAnswering =
  (needs: Answering): AnswerPrompt =>
  async (prompted, run) => {
    const { catalog, clock, log, metrics } = needs;
    const { user } = prompted;
    const agent = catalog.agents.get(user.agent);
    const model = catalog.modelFor(user.model, user.agent);
    if (agent === undefined || model === undefined)
      return refuse(needs, prompted, agent === undefined ? 'agent' : 'model');
    const span = beginTurn(prompted);
    const summariser = catalog.summariserFor(user.model, user.agent) ?? { prompt: undefined, model };
    const startedAt = clock.now();
    const deadline = createTurnDeadline(clock, needs.turnTimeoutMs, run);
    let end: ReturnType<typeof turnOutcome> = 'failed';
    try {
      // The turn before this one may have ended with calls for the client when this prompt waited already.
      const ending = { why: CALL_NOT_AWAITED.prompted, leaseID: prompted.leaseID };
      const session = prompted.isUntouched
        ? prompted.session
        : await endAwaitedCalls(needs, prompted.session.id, ending);
      const responder = { agent, model, summariser };
      const message = await answer(needs, { ...prompted, session, span }, responder, deadline.signal);
      end = turnOutcome(message);
      if (isDefaultTitle(session.title) && session.parentID === undefined && end === 'answered')
        void nameSession(needs, user, span).catch(() => log('warn', 'trouble', { reason: 'title' }));
      return message;
    } finally {
      deadline.clear();
      span?.end(end === 'answered' ? {} : { 'error.type': end });
      metrics.turnEnded({ end, durationMs: clock.now() - startedAt });
    }
  };
