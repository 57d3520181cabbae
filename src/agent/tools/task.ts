import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import type { AgentCatalog, KnownAgent } from '../agents/catalog.ts';
import type { ToolSpec } from '../model/types.ts';
import { actionFor, appliesToTool } from '../protocol/permission-rules.ts';
import type { PromptBody } from '../protocol/request-schemas.ts';
import type { Message, Rule, Session, UserMessage } from '../protocol/types.ts';
import type { AcceptedPrompt } from '../session/prompt.ts';
import type { RunQueue } from '../session/run-queue.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import type { AgentTool, CallContext, ToolOutcome } from './tool.ts';

/** Which sessions work for which at the moment, and how much one prompt has handed on, all the way down. */
export type TaskTracker = {
  /** Counts one more task of the prompt that is being answered; false when it has handed on all that it may. */
  readonly takeOne: (asking: TaskCaller) => boolean;
  /** A session works for the one that asks, until the returned function is called. */
  readonly begin: (childID: string, asking: TaskCaller) => () => void;
  /** The session that one works for. */
  readonly parentOf: (sessionID: string) => string | undefined;
};

/** Where a task is handed on: the session, and the signal of the turn in it, which every turn has one of its own. */
export type TaskCaller = { readonly sessionID: string; readonly signal: AbortSignal };

type Budget = { left: number };

/** `limit` tasks for each prompt of a person. */
export const createTaskTracker = (limit: number): TaskTracker => {
  const begun = new WeakMap<AbortSignal, Budget>();
  const working = new Map<string, { readonly parentID: string; readonly budget: Budget }>();
  const budgetOf = ({ sessionID, signal }: TaskCaller): Budget => {
    const known = working.get(sessionID)?.budget ?? begun.get(signal);
    if (known !== undefined) return known;
    const fresh = { left: limit };
    begun.set(signal, fresh);
    return fresh;
  };
  return {
    takeOne(asking) {
      const budget = budgetOf(asking);
      if (budget.left === 0) return false;
      budget.left -= 1;
      return true;
    },
    begin(childID, asking) {
      working.set(childID, { parentID: asking.sessionID, budget: budgetOf(asking) });
      return () => void working.delete(childID);
    },
    parentOf: (sessionID) => working.get(sessionID)?.parentID,
  };
};

/** The name of the tool that hands on work. */
export const TASK_TOOL = 'task';

/** The prompt that the turn answers in which a task is handed on. */
export const findPrompt = async (
  store: Pick<Store, 'message'>,
  { sessionID, messageID }: CallContext,
): Promise<UserMessage | undefined> => {
  const infoOf = async (id: string): Promise<Message | undefined> => (await store.message(sessionID, id))?.info;
  const answer = await infoOf(messageID);
  const user = answer?.role === 'assistant' ? await infoOf(answer.parentID) : undefined;
  return user?.role === 'user' ? user : undefined;
};

/**
 * What the session or the message forbids, or wants to be asked about: no other agent may do it for them either. Handing the
 * work on again is only for those whose rules speak of it.
 */
export const inheritedRules = (session: Session, user: UserMessage | undefined, taker: KnownAgent): readonly Rule[] => {
  const switched = Object.entries(user?.tools ?? {}).filter(([, isOn]) => !isOn);
  const isSpokenOf = taker.rules.some((rule) => rule.permission !== '*' && appliesToTool(rule, TASK_TOOL));
  const denied = [...switched.map(([permission]) => permission), ...(isSpokenOf ? [] : [TASK_TOOL])];
  return [
    ...(session.permission ?? []).filter(({ action }) => action !== 'allow'),
    ...denied.map((permission): Rule => ({ permission, pattern: '*', action: 'deny' })),
  ];
};

export type TaskNeeds = {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly catalog: AgentCatalog;
  readonly accept: (sessionID: string, prompt: PromptBody) => Promise<AcceptedPrompt>;
  readonly runs: () => RunQueue;
  readonly taskTracker: TaskTracker;
};

const Input = v.object({
  description: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  prompt: v.pipe(v.string(), v.minLength(1)),
  subagent_type: v.string(),
});

/** How many sessions may hang one under the other before no more work is handed on: longer chains are a loop in disguise. */
const MAX_DEPTH = 3;

/** How many tasks one prompt of a person may come to, all the way down. */
export const MAX_TASKS_PER_PROMPT = 100;
const OUT_OF_TASKS = `${MAX_TASKS_PER_PROMPT} tasks have been handed on for this prompt, and no more may be. Do the work yourself.`;

const REMOVED = 'Somebody removed the session in which the task was to be worked on.';

/** The tool as a model is told of it, with the agents that it can hand work to. */
const createSpec = (takers: readonly KnownAgent[]): ToolSpec => {
  const listed = takers.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return {
    name: TASK_TOOL,
    description: `Hands a piece of work to another agent and answers with what that agent says at the end. The other agent sees nothing of this conversation, so tell it all it needs. Agents:\n${listed}`,
    inputSchema: {
      type: 'object',
      properties: {
        description: { type: 'string', description: 'the work in three to five words' },
        prompt: { type: 'string', description: 'the whole task, with everything the other agent must know' },
        subagent_type: {
          type: 'string',
          enum: takers.map(({ name }) => name),
          description: 'the agent that is to do it',
        },
      },
      required: ['description', 'prompt', 'subagent_type'],
      additionalProperties: false,
    },
  };
};

const failed = (output: string): ToolOutcome => ({ output, title: 'task', metadata: {}, isError: true });

/** A parent that was deleted ends the chain. */
const countAncestors = async (store: Pick<Store, 'session'>, sessionID: string): Promise<number> => {
  let depth = 0;
  for (let id: string | undefined = sessionID; id !== undefined && depth <= MAX_DEPTH; depth++) {
    id = (await store.session(id))?.parentID;
  }
  return depth;
};

/** Hands work to another agent, in a session of its own that belongs to the one that asks. */
export const createTaskTool = ({ sessions, store, catalog, accept, runs, taskTracker }: TaskNeeds): AgentTool => {
  const takers = [...catalog.agents.values()].filter(({ canTakeTasks }) => canTakeTasks);
  const names = takers.map(({ name }) => name);

  const work = async (
    { description, prompt, subagent_type }: v.InferOutput<typeof Input>,
    context: CallContext,
  ): Promise<ToolOutcome> => {
    const { sessionID, signal } = context;
    const taker = takers.find(({ name }) => name === subagent_type);
    if (taker === undefined) return failed(`subagent_type: expected one of ${names.join(', ')}`);
    if ((await countAncestors(store, sessionID)) > MAX_DEPTH)
      return failed('Tasks are nested too deeply. Do the work yourself.');
    if (!taskTracker.takeOne(context)) return failed(OUT_OF_TASKS);
    const parent = await sessions.get(sessionID);
    const asked = await findPrompt(store, context);
    const permission = inheritedRules(parent, asked, taker);
    const title = `${description} (@${subagent_type} subagent)`;
    const { directory } = parent;
    // Without a model of its own the other agent goes on with this one: the default one may be elsewhere.
    const given = { directory, parentID: sessionID, title, agent: subagent_type, model: asked?.model, permission };
    const child = await sessions.create(given);
    const { session, user } = await accept(child.id, { parts: [{ type: 'text', text: prompt }] });
    const finish = taskTracker.begin(child.id, context);
    const leave = () => void runs().abort(child.id);
    signal.addEventListener('abort', leave, { once: true });
    try {
      const running = runs().run(session, user);
      // The abort may have come while the child was being made.
      if (signal.aborted) leave();
      const message = await running;
      signal.throwIfAborted();
      const told = await store.message(child.id, message.id);
      const output = (told?.parts ?? [])
        .map((part) => (part.type === 'text' ? part.text : ''))
        .join('\n')
        .trim();
      const metadata = { sessionId: child.id };
      if (message.error !== undefined) {
        return { output: `The task failed: ${message.error.name}. ${output}`.trim(), title, metadata, isError: true };
      }
      return { output: output === '' ? 'The task ended without an answer.' : output, title, metadata, isError: false };
    } finally {
      finish();
      signal.removeEventListener('abort', leave);
    }
  };
  const tool: AgentTool = {
    ...createSpec(takers),
    limitedBy(rules) {
      const allowed = takers.filter(({ name }) => actionFor(rules, TASK_TOOL, name) !== 'deny');
      return allowed.length === 0 ? undefined : { ...tool, ...createSpec(allowed) };
    },
    // A text of the model's own could be a wildcard, and `always` would then allow more than anybody meant.
    patternsFor: ({ subagent_type }) => [names.find((name) => name === subagent_type) ?? 'unknown'],
    async run(given, context) {
      const parsed = v.safeParse(Input, given);
      if (!parsed.success) return failed('The arguments are description, prompt and subagent_type, all texts');
      return work(parsed.output, context).catch((error: unknown) => {
        context.signal.throwIfAborted();
        if (error instanceof Fault && error.detail.kind === 'not-found') return failed(REMOVED);
        throw error;
      });
    },
  };
  return tool;
};
