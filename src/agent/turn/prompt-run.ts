import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { AgentCatalog, KnownAgent } from '../agents/catalog.ts';
import type { ResolvedModel, Responder, Summariser } from '../agents/types.ts';
import type { Publisher } from '../events/publisher.ts';
import type { AgentMetrics } from '../metrics.ts';
import { countAttempts } from '../model/attempts.ts';
import { addTokens } from '../model/cost.ts';
import { splitThinking } from '../model/think-tags.ts';
import type { ChatModel } from '../model/types.ts';
import type { Ids } from '../protocol/ids.ts';
import { collectRules, isToolHidden, type RuleScope } from '../protocol/permission-rules.ts';
import type { AssistantMessage, Rule, Session, UserMessage } from '../protocol/types.ts';
import type { AnswerPrompt, QueuedPrompt } from '../session/run-queue.ts';
import { isDefaultTitle, type Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createPermissionActions } from '../tools/permission-check.ts';
import type { TaskTracker } from '../tools/task.ts';
import type { AgentTool, OutputLimits } from '../tools/tool.ts';
import { isSummaryRequest, runSummary } from './compaction.ts';
import { TurnTimeout } from './errors.ts';
import { createSessionNamer } from './title.ts';
import { runTurn } from './turn.ts';
import type { TurnContext } from './types.ts';

/** The tools that a model is told of under its agent's rules, each without what the rules deny of it. */
export const toolsUnderRules = (tools: readonly AgentTool[], rules: readonly Rule[]): readonly AgentTool[] =>
  tools
    .filter(({ name }) => !isToolHidden(rules, name))
    .flatMap((tool) => (tool.limitedBy === undefined ? [tool] : (tool.limitedBy(rules) ?? [])));

/** A signal that aborts with the run's, or when the turn has taken all the time that it may. Call `clear` in a `finally`. */
export const createTurnDeadline = (
  clock: Clock,
  limitMs: number,
  run: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } => {
  const controller = new AbortController();
  const cancelTimer = clock.after(limitMs, () => controller.abort(new TurnTimeout(limitMs)));
  const leave = () => controller.abort(run.reason);
  if (run.aborted) leave();
  else run.addEventListener('abort', leave, { once: true });
  return {
    signal: controller.signal,
    clear() {
      cancelTimer();
      run.removeEventListener('abort', leave);
    },
  };
};

export type AnswerNeeds = {
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
  /** Every tool there is once the tool servers had their chance; each agent is shown those that its rules do not hide. */
  readonly tools: (signal: AbortSignal, onWait: () => Promise<unknown>) => Promise<readonly AgentTool[]>;
  /** What tool servers say of themselves, with the beginning of their tools' names. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  readonly outputLimits: OutputLimits;
  /** How long a turn may take as a whole. */
  readonly turnTimeoutMs: number;
  readonly taskTracker: Pick<TaskTracker, 'parentOf'>;
  readonly metrics: AgentMetrics;
  /** A title that could not be made, or another thing that nobody waits for. */
  readonly onFailure: (what: string) => void;
  readonly onBug: (error: unknown) => void;
  /** Aborts when the server stops: nobody waits for a title any more then. */
  readonly ending: AbortSignal;
};

type PromptAnswer = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly agent: KnownAgent;
  readonly voice: ResolvedModel;
  readonly summariser: Summariser;
};

/** Tells that a turn failed, and in nobody's words how. One that was aborted ended as somebody wished. */
const logFailure = (log: Log, { sessionID, providerID, modelID, error }: AssistantMessage, attempts: number): void => {
  if (error === undefined) return;
  const status = error.name === 'APIError' ? error.data.statusCode : undefined;
  const level = error.name === 'MessageAbortedError' ? 'info' : 'warn';
  log(level, 'turn-failed', {
    session: sessionID,
    model: `${providerID}/${modelID}`,
    fault: error.name,
    ...(status === undefined ? {} : { status }),
    count: attempts,
  });
};

const turnOutcome = ({ error }: AssistantMessage): 'answered' | 'failed' | 'aborted' =>
  error === undefined ? 'answered' : error.name === 'MessageAbortedError' ? 'aborted' : 'failed';

/** Answers prompts with the agents, models and tools of the configuration. */
export const createAnswering = (needs: AnswerNeeds): AnswerPrompt => {
  const { clock, log, model, publisher, sessions, store, catalog, metrics, onFailure: onTrouble } = needs;
  const nameSession = createSessionNamer(needs);
  const currentActionFor = createPermissionActions(needs);

  /** What the servers of these tools say of themselves, for the model. */
  const wordsOf = (tools: readonly AgentTool[]): readonly string[] =>
    needs
      .instructions()
      .filter(({ server }) => tools.some(({ name }) => name.startsWith(`${server.replace(/[^\w-]/g, '_')}_`)))
      .map(({ server, text }) => `The tool server ${server} says of its tools:\n${text}`);
  const converse = async (
    turn: TurnContext,
    { session, user, agent, voice, summariser }: PromptAnswer,
    signal: AbortSignal,
  ): Promise<AssistantMessage> => {
    const worker: RuleScope = { agent: agent.rules, session, user };
    const offered = voice.takesTools ? await needs.tools(signal, () => turn.show({ type: 'busy' })) : [];
    const tools = toolsUnderRules(offered, collectRules(worker).withoutInheritedAsk);
    const prompt = [agent.prompt, ...wordsOf(tools)].join('\n\n');
    const whole: Responder = { agent: { ...agent, prompt }, model: voice, summariser };
    return runTurn(turn, { session, user, responder: whole, tools, currentAction: currentActionFor(worker) }, signal);
  };
  const answer = async (
    { session, user, showStatus, atEnd, leaseID }: QueuedPrompt,
    { agent, voice }: { readonly agent: KnownAgent; readonly voice: ResolvedModel },
    signal: AbortSignal,
  ): Promise<AssistantMessage> => {
    const counted = countAttempts(model);
    const turn: TurnContext = {
      ...needs,
      model: voice.splitsThinking ? (...asked) => splitThinking(counted.model(...asked)) : counted.model,
      publish: (fact) => publisher.publish(session.directory, { ...fact, leaseID: leaseID }),
      show: showStatus,
      atEnd,
      addUsage: ({ tokens, cost }, within) => {
        const add = (now: Session): Session => ({
          ...now,
          cost: now.cost + cost,
          tokens: addTokens(now.tokens, tokens),
        });
        return sessions.update(session.id, add, (changed) => ({ ...within(changed), leaseID: leaseID }));
      },
    };
    const summariser = catalog.summariserFor(user.model, user.agent) ?? { prompt: undefined, model: voice };
    const asked = await store.message(session.id, user.id);
    const message =
      asked !== undefined && isSummaryRequest(asked)
        ? await runSummary(turn, { session, user, responder: { agent, model: voice, summariser } }, signal)
        : await converse(turn, { session, user, agent, voice, summariser }, signal);
    logFailure(log, message, counted.attempts());
    return message;
  };
  return async (prompted, run) => {
    const { user } = prompted;
    const agent = catalog.agents.get(user.agent) ?? catalog.agents.get(catalog.defaultAgent);
    const voice = catalog.modelFor(user.model, user.agent);
    if (agent === undefined || voice === undefined)
      throw new Error('A stored prompt names an agent or a model that is gone');
    const startedAt = clock.now();
    const deadline = createTurnDeadline(clock, needs.turnTimeoutMs, run);
    let end: ReturnType<typeof turnOutcome> = 'failed';
    try {
      const session = await sessions.get(prompted.session.id);
      const message = await answer({ ...prompted, session }, { agent, voice }, deadline.signal);
      end = turnOutcome(message);
      if (isDefaultTitle(session.title) && session.parentID === undefined && end === 'answered')
        void nameSession(user).catch(() => onTrouble('title'));
      return message;
    } finally {
      deadline.clear();
      metrics.turnEnded({ end, durationMs: clock.now() - startedAt });
    }
  };
};
