import type { Clock } from '../../core/clock.ts';
import type { Span } from '../../core/http/tracing.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import type { CompileSchema } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import type { AgentCatalog } from '../agents/catalog.ts';
import type { Responder } from '../agents/types.ts';
import { joinPublications, type Publication, type Publisher } from '../events/publisher.ts';
import { type Answered, createFailedAnswer, messagePublication, sessionErrorPublication } from '../events/records.ts';
import type { AgentMetrics } from '../metrics.ts';
import { countAttempts } from '../model/attempts.ts';
import { addTokens } from '../model/cost.ts';
import { splitThinking } from '../model/think-tags.ts';
import type { ChatModel } from '../model/types.ts';
import type { Ids } from '../protocol/ids.ts';
import { collectRules, type RuleScope } from '../protocol/permission-rules.ts';
import type { AssistantMessage, UserMessage } from '../protocol/types.ts';
import { CALL_NOT_AWAITED, endAwaitedCalls } from '../session/awaited-calls.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import type { AnswerPrompt, QueuedPrompt } from '../session/run-queue.ts';
import { isDefaultTitle, type Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createPermissionActions } from '../tools/permission-check.ts';
import type { TaskTracker } from '../tools/task.ts';
import { type AgentTool, toolsUnderRules } from '../tools/tool.ts';
import { createClientTools } from './client-tools.ts';
import { runSummary } from './compaction.ts';
import { serverEndedTurn, TurnTimeout } from './errors.ts';
import { createFailureLog, type FailureLog } from './failure-log.ts';
import { createStructuredOutput } from './structured-output.ts';
import { isSummaryRequest } from './summary-request.ts';
import { createSessionNamer } from './title.ts';
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

type AnswerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly chance: () => number;
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly store: Store;
  readonly publisher: Publisher;
  readonly sessions: Sessions;
  readonly catalog: AgentCatalog;
  /** All tools, after the tool servers had time to connect; each agent sees those that its rules do not hide. */
  readonly tools: (signal: AbortSignal, onWait: () => Promise<unknown>) => Promise<readonly AgentTool[]>;
  readonly compileSchema: CompileSchema;
  /** The instructions that tool servers send for their tools. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  readonly outputLimits: TurnContext['outputLimits'];
  readonly budget: TurnContext['budget'];
  /** Limit for a whole turn. */
  readonly turnTimeoutMs: number;
  /** How long the results of client tools are waited for. */
  readonly clientToolTimeoutMs: number;
  readonly taskTracker: Pick<TaskTracker, 'parentOf'>;
  /** What is stored with the end of an answer that did not fail. */
  readonly answerEnd: (user: UserMessage, answer: EndedAnswer) => Promise<Publication>;
  readonly metrics: AgentMetrics;
  /** Called when work fails that no one waits for, such as a title. */
  readonly onFailure: (what: string) => void;
  readonly onBug: (error: unknown) => void;
  /** Aborts when the server stops: no one waits for a title any more then. */
  readonly ending: AbortSignal;
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

/** Answers prompts with the agents, models and tools of the configuration. */
export const createAnswering = (needs: AnswerNeeds): AnswerPrompt => {
  const { clock, log, ids, publisher, sessions, store, catalog, metrics } = needs;
  const nameSession = createSessionNamer(needs);
  const currentActionFor = createPermissionActions(needs);

  /** The instructions that the servers of these tools give, for the model. */
  const instructionsFor = (tools: readonly AgentTool[]): readonly string[] =>
    needs
      .instructions()
      .filter(({ server }) => tools.some(({ name }) => name.startsWith(`${server.replace(/[^\w-]/g, '_')}_`)))
      .map(({ server, text }) => `Instructions of the tool server ${server} for its tools:\n${text}`);

  /** What a turn works with in this session. Everything that it publishes is stored under the lease of the run. */
  const createContext = (
    { session, user, showStatus, atEnd, leaseID, isUntouched, span }: QueuedPrompt,
    model: ChatModel,
    { onFailedAttempt }: FailureLog,
  ): TurnContext => {
    /** As the turn has seen it last: mostly nothing else changes it meanwhile. */
    let known = session;
    const changeSession: TurnContext['changeSession'] = async (change, within) => {
      known = await sessions.update(session.id, change, (changed) => ({ ...within(changed), leaseID }), known);
    };
    return {
      clock,
      ids,
      chance: needs.chance,
      model,
      approvals: needs.approvals,
      store,
      outputLimits: needs.outputLimits,
      budget: needs.budget,
      metrics,
      span,
      onBug: needs.onBug,
      onFailedAttempt,
      publish: (fact) => publisher.publish(session.directory, { ...fact, leaseID }),
      show: showStatus,
      atEnd: async (answer) =>
        joinPublications(answer === undefined ? {} : await needs.answerEnd(user, answer), await atEnd()),
      clientToolTimeoutMs: needs.clientToolTimeoutMs,
      isUntouched,
      changeSession,
      addUsage: ({ tokens, cost }, within) =>
        changeSession((now) => ({ ...now, cost: now.cost + cost, tokens: addTokens(now.tokens, tokens) }), within),
    };
  };

  const runWithTools = async (
    context: TurnContext,
    answered: Answered,
    signal: AbortSignal,
  ): Promise<AssistantMessage> => {
    const { session, user, responder } = answered;
    const { agent, model } = responder;
    const scope: RuleScope = { agent: agent.rules, session, user };
    const all = model.takesTools ? await needs.tools(signal, () => context.show({ type: 'busy' })) : [];
    const tools = toolsUnderRules(all, collectRules(scope).withoutInheritedAsk);
    const { takesTools } = model;
    const { compileSchema } = needs;
    const output = user.format && createStructuredOutput(user.format, { compileSchema, takesTools });
    const prompt = [agent.prompt, ...instructionsFor(tools)].join('\n\n');
    const ownNames = [...all, ...(output?.tools ?? [])].map(({ name }) => name);
    const request: TurnRequest = {
      session,
      user,
      clientTools: createClientTools(user.clientTools, { ownNames, compileSchema, takesTools }),
      responder: { ...responder, agent: { ...agent, prompt } },
      tools: [...tools, ...(output?.tools ?? [])],
      output,
      currentAction: currentActionFor(scope),
    };
    return runTurn(context, request, signal);
  };

  const answer = async (
    prompted: QueuedPrompt,
    responder: Responder,
    signal: AbortSignal,
  ): Promise<AssistantMessage> => {
    const { session, user, asksForAnswer } = prompted;
    const counted = countAttempts(needs.model);
    const model: ChatModel = responder.model.splitsThinking
      ? (...request) => splitThinking(counted.model(...request))
      : counted.model;
    const { providerID, modelID } = responder.model.ref;
    const failures = createFailureLog(log, {
      session: session.id,
      model: `${providerID}/${modelID}`,
      attempts: counted.attempts,
    });
    const context = createContext(prompted, model, failures);
    const stored = asksForAnswer ? undefined : await store.message(session.id, user.id);
    const run = stored !== undefined && isSummaryRequest(stored) ? runSummary : runWithTools;
    const message = await run(context, { session, user, responder }, signal);
    failures.onEnd(message);
    return message;
  };

  /** Answers a prompt of an earlier process with an error. Another agent could be one that may do more. */
  const refuse = async (
    { session, user, atEnd, leaseID }: QueuedPrompt,
    missing: 'agent' | 'model',
  ): Promise<AssistantMessage> => {
    const { providerID, modelID } = user.model;
    const [name, known] =
      missing === 'agent'
        ? [user.agent, [...catalog.agents.keys()]]
        : [`${providerID}/${modelID}`, catalog.models.filter((one) => one !== `${providerID}/${modelID}`)];
    const reason = notConfiguredText(missing, name, known);
    const error = serverEndedTurn(
      `The server was restarted with another configuration: ${reason}. Send the prompt again`,
    );
    const id = await createMessageIDs(needs)(session.id);
    const message = createFailedAnswer({ session, user }, { id, now: clock.now(), error });
    const failed = sessionErrorPublication(session.id, error);
    const publication = joinPublications(messagePublication(message), failed, await atEnd());
    await publisher.publish(session.directory, { ...publication, leaseID });
    createFailureLog(log, { session: session.id, model: `${providerID}/${modelID}`, attempts: () => 0 }).onEnd(message);
    return message;
  };

  return async (prompted, run) => {
    const { user } = prompted;
    const agent = catalog.agents.get(user.agent);
    const model = catalog.modelFor(user.model, user.agent);
    if (agent === undefined || model === undefined) return refuse(prompted, agent === undefined ? 'agent' : 'model');
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
      const message = await answer({ ...prompted, session, span }, { agent, model, summariser }, deadline.signal);
      end = turnOutcome(message);
      if (isDefaultTitle(session.title) && session.parentID === undefined && end === 'answered')
        void nameSession(user, span).catch(() => needs.onFailure('title'));
      return message;
    } finally {
      deadline.clear();
      span?.end(end === 'answered' ? {} : { 'error.type': end });
      metrics.turnEnded({ end, durationMs: clock.now() - startedAt });
    }
  };
};
