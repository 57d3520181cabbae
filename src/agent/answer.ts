import type { Clock } from '../core/clock.ts';
import type { AgentTool } from './agent-tool.ts';
import type { Approvals } from './approvals.ts';
import type { ChatModel } from './chat-model.ts';
import { addTokens } from './cost.ts';
import type { Ids } from './ids.ts';
import { isHidden, rulingForAll } from './permission-rules.ts';
import type { Publisher } from './publisher.ts';
import type { Answering } from './runs.ts';
import type { Rule, Session } from './session.ts';
import { isDefaultTitle, type Sessions } from './sessions.ts';
import { splitThinking } from './split-thinking.ts';
import type { Store } from './store.ts';
import { titleFor } from './title.ts';
import type { OutputLimits } from './tool-output.ts';
import { runTurn } from './turn.ts';
import type { Voices } from './voices.ts';

export type AnswerNeeds = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly chance: () => number;
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly store: Store;
  readonly publisher: Publisher;
  readonly sessions: Sessions;
  readonly voices: Voices;
  /** Every tool there is once the tool servers had their chance; each agent is shown those that its rules do not hide. */
  readonly tools: (signal: AbortSignal) => Promise<readonly AgentTool[]>;
  /** What tool servers say of themselves, with the beginning of their tools' names. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  readonly outputLimits: OutputLimits;
  /** A title that could not be made, or another thing that nobody waits for. */
  readonly onTrouble: (what: string) => void;
  readonly onBug: (error: unknown) => void;
  /** Aborts when the server stops: nobody waits for a title any more then. */
  readonly ending: AbortSignal;
};

const TITLE_LIMIT_MS = 30_000;

/** Rules of one message: tools that it switches on or off by name. */
const rulesOfMessage = (tools: Readonly<Record<string, boolean>> = {}): readonly Rule[] =>
  Object.entries(tools).map(([permission, isOn]) => ({ permission, pattern: '*', action: isOn ? 'allow' : 'deny' }));

/** Answers prompts with the agents, models and tools of the configuration. */
export const createAnswering = (needs: AnswerNeeds): Answering => {
  const { clock, model, approvals, store, publisher, sessions, voices, onTrouble, ending } = needs;

  const nameSession = async (session: Session, asked: string): Promise<void> => {
    const ref = voices.smallModel ?? voices.defaultModel;
    const voice = voices.modelFor(ref, voices.defaultAgent);
    if (voice === undefined || asked === '') return;
    const controller = new AbortController();
    const leave = () => controller.abort(new Error('Titles take no longer'));
    const cancel = clock.after(TITLE_LIMIT_MS, leave);
    ending.addEventListener('abort', leave, { once: true });
    try {
      const title = await titleFor(model, { voice, asked, sessionID: session.id }, controller.signal);
      if (title === undefined) return;
      await sessions.update(session.id, (now) => (isDefaultTitle(now.title) ? { ...now, title } : now));
    } finally {
      cancel();
      ending.removeEventListener('abort', leave);
    }
  };
  /** What the servers of these tools say of themselves, for the model. */
  const wordsOf = (tools: readonly AgentTool[]): readonly string[] =>
    needs
      .instructions()
      .filter(({ server }) => tools.some(({ name }) => name.startsWith(`${server.replace(/[^\w-]/g, '_')}_`)))
      .map(({ server, text }) => `The tool server ${server} says of its tools:\n${text}`);

  return async ({ session, user, show }, signal) => {
    const agent = voices.agents.get(user.agent) ?? voices.agents.get(voices.defaultAgent);
    const voice = voices.modelFor(user.model, user.agent);
    if (agent === undefined || voice === undefined)
      throw new Error('A stored prompt names an agent or a model that is gone');
    const current = await sessions.get(session.id);
    const fixed = [...agent.rules, ...(current.permission ?? []), ...rulesOfMessage(user.tools)];
    const offered = voice.takesTools ? await needs.tools(signal) : [];
    const tools = offered.filter(({ name }) => !isHidden(fixed, name));
    const message = await runTurn(
      {
        ...needs,
        model: voice.splitsThinking ? (...asked) => splitThinking(model(...asked)) : model,
        publish: (fact) => publisher.publish(session.directory, fact),
        show,
        account: ({ tokens, cost }) =>
          sessions.update(session.id, (now) => ({
            ...now,
            cost: now.cost + cost,
            tokens: addTokens(now.tokens, tokens),
          })),
      },
      {
        session: current,
        user,
        voice: { agent: { ...agent, prompt: [agent.prompt, ...wordsOf(tools)].join('\n\n') }, model: voice },
        tools,
        // What people allowed for good answers a question, and lifts no ban: it may have been another agent's.
        ruling: (tool, patterns) => {
          const ruled = rulingForAll(fixed, tool, patterns);
          return ruled === 'ask' ? rulingForAll([...fixed, ...approvals.allowed()], tool, patterns) : ruled;
        },
      },
      signal,
    );
    if (isDefaultTitle(current.title) && current.parentID === undefined && message.error === undefined) {
      const told = await store.message(session.id, user.id);
      const asked = (told?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      void nameSession(session, asked.trim()).catch(() => onTrouble('title'));
    }
    return message;
  };
};
