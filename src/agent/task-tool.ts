import * as v from 'valibot';
import type { AgentTool, CallContext, ToolOutcome } from './agent-tool.ts';
import type { Accepted } from './prompts.ts';
import type { Runs } from './runs.ts';
import type { Rule, Session } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { Store } from './store.ts';
import type { Voices } from './voices.ts';
import type { PromptIn } from './wire-in.ts';

export type TaskNeeds = {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly voices: Voices;
  readonly accept: (sessionID: string, prompt: PromptIn) => Promise<Accepted>;
  readonly runs: () => Runs;
};

const Input = v.object({
  description: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  prompt: v.pipe(v.string(), v.minLength(1)),
  subagent_type: v.string(),
});

/** How many sessions may hang one under the other before no more work is handed on: longer chains are a loop in disguise. */
const DEPTH_LIMIT = 3;

const failed = (output: string): ToolOutcome => ({ output, title: 'task', metadata: {}, isError: true });

/** A parent that was deleted ends the chain. */
const depthOf = async (store: Pick<Store, 'session'>, sessionID: string): Promise<number> => {
  let depth = 0;
  for (let id: string | undefined = sessionID; id !== undefined && depth <= DEPTH_LIMIT; depth++) {
    id = (await store.session(id))?.parentID;
  }
  return depth;
};

/** What the session or the message forbids, or wants to be asked about: no other agent may do it for them either. */
const limitsOf = async (
  store: Pick<Store, 'message'>,
  session: Session,
  messageID: string,
): Promise<readonly Rule[]> => {
  const answer = (await store.message(session.id, messageID))?.info;
  const user = answer?.role === 'assistant' ? (await store.message(session.id, answer.parentID))?.info : undefined;
  const switched = Object.entries(user?.role === 'user' ? (user.tools ?? {}) : {}).filter(([, isOn]) => !isOn);
  return [
    ...(session.permission ?? []).filter(({ action }) => action !== 'allow'),
    ...switched.map(([permission]): Rule => ({ permission, pattern: '*', action: 'deny' })),
  ];
};

/** Hands work to another agent, in a session of its own that belongs to the one that asks. */
export const createTaskTool = ({ sessions, store, voices, accept, runs }: TaskNeeds): AgentTool => {
  const takers = [...voices.agents.values()].filter(({ takesTasks }) => takesTasks);
  const names = takers.map(({ name }) => name);
  const listed = takers.map(({ name, description }) => `- ${name}: ${description}`).join('\n');

  const work = async (
    { description, prompt, subagent_type }: v.InferOutput<typeof Input>,
    { sessionID, messageID, signal }: CallContext,
  ): Promise<ToolOutcome> => {
    if (!names.includes(subagent_type)) return failed(`subagent_type: expected one of ${names.join(', ')}`);
    if ((await depthOf(store, sessionID)) > DEPTH_LIMIT)
      return failed('Tasks are nested too deeply. Do the work yourself.');
    const parent = await sessions.get(sessionID);
    const permission = await limitsOf(store, parent, messageID);
    const title = `${description} (@${subagent_type} subagent)`;
    const { directory } = parent;
    const child = await sessions.create({ directory, parentID: sessionID, title, agent: subagent_type, permission });
    const { session, user } = await accept(child.id, { parts: [{ type: 'text', text: prompt }] });
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
      signal.removeEventListener('abort', leave);
    }
  };
  return {
    name: 'task',
    description: `Hands a piece of work to another agent and answers with what that agent says at the end. The other agent sees nothing of this conversation, so tell it all it needs. Agents:\n${listed}`,
    inputSchema: {
      type: 'object',
      properties: {
        description: { type: 'string', description: 'the work in three to five words' },
        prompt: { type: 'string', description: 'the whole task, with everything the other agent must know' },
        subagent_type: { type: 'string', enum: names, description: 'the agent that is to do it' },
      },
      required: ['description', 'prompt', 'subagent_type'],
      additionalProperties: false,
    },
    // A text of the model's own could be a wildcard, and `always` would then allow more than anybody meant.
    patternsOf: ({ subagent_type }) => [names.find((name) => name === subagent_type) ?? 'unknown'],
    async run(given, context) {
      const parsed = v.safeParse(Input, given);
      if (!parsed.success) return failed('The arguments are description, prompt and subagent_type, all texts');
      return work(parsed.output, context);
    },
  };
};
