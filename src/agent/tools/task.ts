import * as v from 'valibot';
import { isNotFound } from '../../core/fault.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import type { KnownAgent } from '../agents/catalog.ts';
import type { ToolSpec } from '../model/types.ts';
import { actionFor, appliesToTool } from '../protocol/permission-rules.ts';
import type { Message, Part, Rule, Session, UserMessage } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { AcceptPrompt } from '../session/prompt.ts';
import type { RunQueue } from '../session/run-queue.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { type AgentTool, CALL_REFUSED, type CallContext, type ToolOutcome } from './tool.ts';

/** Which sessions work for which at the moment, and how many tasks one prompt has started, on all levels. */
export type TaskTracker = {
  /** Counts one more task of the prompt that is being answered; false when the limit is reached. */
  readonly takeOne: (caller: TaskCaller) => boolean;
  /** Marks a session as working for the caller, until the returned function is called. */
  readonly begin: (childID: string, caller: TaskCaller) => () => void;
  /** The session that one works for. */
  readonly parentOf: (sessionID: string) => string | undefined;
};

/** The caller of a task: its session, and the signal of its turn, which is another one for every turn. */
type TaskCaller = { readonly sessionID: string; readonly signal: AbortSignal };

type Budget = { left: number };

/** Allows `limit` tasks for each prompt of a person. */
export const createTaskTracker = (limit: number): TaskTracker => {
  const budgets = new WeakMap<AbortSignal, Budget>();
  const working = new Map<string, { readonly parentID: string; readonly budget: Budget }>();
  const budgetOf = ({ sessionID, signal }: TaskCaller): Budget => {
    const known = working.get(sessionID)?.budget ?? budgets.get(signal);
    if (known !== undefined) return known;
    const fresh = { left: limit };
    budgets.set(signal, fresh);
    return fresh;
  };
  return {
    takeOne(caller) {
      const budget = budgetOf(caller);
      if (budget.left === 0) return false;
      budget.left -= 1;
      return true;
    },
    begin(childID, caller) {
      working.set(childID, { parentID: caller.sessionID, budget: budgetOf(caller) });
      return () => void working.delete(childID);
    },
    parentOf: (sessionID) => working.get(sessionID)?.parentID,
  };
};

/** The name of the tool that starts a task. */
const TASK_TOOL = 'task';

/** The prompt that the calling turn answers. */
const findPrompt = async (
  store: Pick<Store, 'message'>,
  { sessionID, messageID }: CallContext,
): Promise<UserMessage | undefined> => {
  const infoOf = async (id: string): Promise<Message | undefined> => (await store.message(sessionID, id))?.info;
  const answer = await infoOf(messageID);
  const user = answer?.role === 'assistant' ? await infoOf(answer.parentID) : undefined;
  return user?.role === 'user' ? user : undefined;
};

/**
 * Rules for the session of a task: what the calling session or message denies or needs approval for, no other agent may do for
 * it either. Starting tasks of its own is only for agents whose rules name the task tool.
 */
const inheritedRules = (session: Session, user: UserMessage | undefined, subagent: KnownAgent): readonly Rule[] => {
  const switched = Object.entries(user?.tools ?? {}).filter(([, isOn]) => !isOn);
  const isTaskNamed = subagent.rules.some((rule) => rule.permission !== '*' && appliesToTool(rule, TASK_TOOL));
  const denied = [...switched.map(([permission]) => permission), ...(isTaskNamed ? [] : [TASK_TOOL])];
  return [
    ...(session.permission ?? []).filter(({ action }) => action !== 'allow'),
    ...denied.map((permission): Rule => ({ permission, pattern: '*', action: 'deny' })),
  ];
};

type TaskNeeds = AgentRuntime & {
  readonly sessions: Sessions;
  readonly accept: AcceptPrompt;
  readonly runs: () => RunQueue;
  readonly taskTracker: TaskTracker;
};

const Input = v.object({
  description: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  prompt: v.pipe(v.string(), v.minLength(1)),
  subagent_type: v.string(),
});

/** How deep sessions may be nested before tasks are refused: longer chains are most likely a loop. */
const MAX_DEPTH = 3;

/** How many tasks one prompt of a person may start, on all levels. */
export const MAX_TASKS_PER_PROMPT = 100;
const OUT_OF_TASKS = `${MAX_TASKS_PER_PROMPT} tasks have been handed on for this prompt, and no more may be. Do the work yourself.`;

const REMOVED = 'Somebody removed the session in which the task was to be worked on.';

/** The tool's specification for a model, with the agents that it can call. */
const createSpec = (subagents: readonly KnownAgent[]): ToolSpec => {
  const listed = subagents.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return {
    name: TASK_TOOL,
    description: `Hands a piece of work to another agent and answers with the last text of that agent. The other agent sees nothing of this conversation, so include everything it needs. Agents:\n${listed}`,
    inputSchema: {
      type: 'object',
      properties: {
        description: { type: 'string', description: 'the work in three to five words' },
        prompt: { type: 'string', description: 'the whole task, with everything the other agent must know' },
        subagent_type: {
          type: 'string',
          enum: subagents.map(({ name }) => name),
          description: 'the agent that is to do it',
        },
      },
      required: ['description', 'prompt', 'subagent_type'],
      additionalProperties: false,
    },
  };
};

const failed = (output: string): ToolOutcome => ({ output, title: 'task', metadata: {}, isError: true });

/** What the caller of a task reads that ended without an answer, such as after a rejected call. */
const unansweredText = (parts: readonly Part[]): string => {
  const refusals: readonly string[] = Object.values(CALL_REFUSED);
  const refused = parts.flatMap((part) =>
    part.type === 'tool' && part.state.status === 'error' && refusals.includes(part.state.error)
      ? [`${part.tool}: ${part.state.error}`]
      : [],
  );
  return ['The task ended without an answer.', ...refused].join(' ');
};

/** The number of sessions in the chain of parents. A parent that was deleted ends the chain. */
const countAncestors = async (store: Pick<Store, 'session'>, sessionID: string): Promise<number> => {
  let depth = 0;
  for (let id: string | undefined = sessionID; id !== undefined && depth <= MAX_DEPTH; depth++) {
    id = (await store.session(id))?.parentID;
  }
  return depth;
};

/** The tool that gives work to another agent, in a child session of the caller's. */
export const createTaskTool = ({ sessions, store, catalog, accept, runs, taskTracker }: TaskNeeds): AgentTool => {
  const subagents = [...catalog.agents.values()].filter(({ canTakeTasks }) => canTakeTasks);
  const names = subagents.map(({ name }) => name);

  const runTask = async (
    { description, prompt, subagent_type }: v.InferOutput<typeof Input>,
    context: CallContext,
  ): Promise<ToolOutcome> => {
    const { sessionID, signal, span } = context;
    const subagent = subagents.find(({ name }) => name === subagent_type);
    if (subagent === undefined) {
      const wrong = catalog.agents.has(subagent_type)
        ? `agent "${subagent_type}" takes no tasks`
        : notConfiguredText('agent', subagent_type, names, catalog.secrets);
      return failed(`subagent_type: ${wrong}; expected one of ${names.join(', ')}`);
    }
    if ((await countAncestors(store, sessionID)) > MAX_DEPTH)
      return failed('Tasks are nested too deeply. Do the work yourself.');
    if (!taskTracker.takeOne(context)) return failed(OUT_OF_TASKS);
    const parent = await sessions.get(sessionID);
    const prompted = await findPrompt(store, context);
    const permission = inheritedRules(parent, prompted, subagent);
    const title = `${description} (@${subagent_type} subagent)`;
    const { directory } = parent;
    // An agent without a model of its own uses the caller's: the default one may be of another provider.
    const childSettings = {
      directory,
      parentID: sessionID,
      title,
      agent: subagent_type,
      model: prompted?.model,
      permission,
    };
    const child = await sessions.create(childSettings);
    // Owed to this call alone: if the server ends, the call ends too, and nothing else may do its work.
    const { session, user } = await accept(child.id, { parts: [{ type: 'text', text: prompt }] }, { isOwed: false });
    const finish = taskTracker.begin(child.id, context);
    const onAbort = () => void runs().abort(child.id);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const running = runs().run(session, user, { isOwed: false, asksForAnswer: true, span });
      // The abort may have come while the child session was being created.
      if (signal.aborted) onAbort();
      const message = await running;
      signal.throwIfAborted();
      const answer = await store.message(child.id, message.id);
      const output = (answer?.parts ?? [])
        .map((part) => (part.type === 'text' ? part.text : ''))
        .join('\n')
        .trim();
      const metadata = { sessionId: child.id };
      if (message.error !== undefined) {
        return { output: `The task failed: ${message.error.name}. ${output}`.trim(), title, metadata, isError: true };
      }
      return { output: output === '' ? unansweredText(answer?.parts ?? []) : output, title, metadata, isError: false };
    } finally {
      finish();
      signal.removeEventListener('abort', onAbort);
    }
  };
  const tool: AgentTool = {
    ...createSpec(subagents),
    limitedBy(rules) {
      const allowed = subagents.filter(({ name }) => actionFor(rules, TASK_TOOL, name) !== 'deny');
      return allowed.length === 0 ? undefined : { ...tool, ...createSpec(allowed) };
    },
    // A name that the model invents could be a wildcard, and `always` would then allow more than anyone meant.
    patternsFor: ({ subagent_type }) => [names.find((name) => name === subagent_type) ?? 'unknown'],
    async run(given, context) {
      const parsed = v.safeParse(Input, given);
      if (!parsed.success) return failed('The arguments are description, prompt and subagent_type, all texts');
      return runTask(parsed.output, context).catch((error: unknown) => {
        context.signal.throwIfAborted();
        if (isNotFound(error)) return failed(REMOVED);
        throw error;
      });
    },
  };
  return tool;
};
