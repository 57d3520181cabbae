import type { Rule } from '../session.ts';
import type { AgentMode } from './built-in-agents.ts';
import { tableIn, textIn } from './model-names.ts';
import type { AgentConfig, AgentServerConfig } from './types.ts';

type Table = Readonly<Record<string, unknown>>;

/** An agent as the wire shows it (OpenCode 1.x, `Agent`). */
export type AgentView = {
  readonly name: string;
  readonly description?: string;
  readonly mode: AgentMode;
  readonly native: boolean;
  readonly hidden: boolean;
  readonly topP?: number;
  readonly temperature?: number;
  readonly color?: string;
  readonly permission: readonly Rule[];
  readonly model?: { readonly providerID: string; readonly modelID: string };
  readonly variant?: string;
  readonly prompt?: string;
  readonly options: Table;
  readonly steps: number;
};

/** What may hold a secret comes from `shown`, the rest from the agent. */
const agentView = (agent: AgentConfig, shown: Table): AgentView => {
  const written = agent.description === undefined ? undefined : (textIn(shown, 'description') ?? agent.description);
  const prompt = textIn(shown, 'prompt');
  const color = textIn(shown, 'color');
  return {
    name: agent.name,
    ...(written === undefined ? {} : { description: written }),
    mode: agent.mode,
    native: agent.isNative,
    hidden: agent.isHidden,
    ...(agent.topP === undefined ? {} : { topP: agent.topP }),
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    ...(color === undefined ? {} : { color }),
    permission: agent.rules,
    ...(agent.model === undefined
      ? {}
      : { model: { providerID: agent.model.providerID, modelID: agent.model.modelID } }),
    ...(agent.variant === undefined ? {} : { variant: agent.variant }),
    ...(prompt === undefined ? {} : { prompt }),
    options: tableIn(shown, 'options'),
    steps: agent.steps,
  };
};

/** The body of `GET /agent`: every agent, the hidden ones too, the default one first. */
export const agentList = ({ agents, defaultAgent, shown }: AgentServerConfig): readonly AgentView[] =>
  [...agents.values()]
    .toSorted((left, right) => Number(right.name === defaultAgent) - Number(left.name === defaultAgent))
    .map((agent) => agentView(agent, tableIn(tableIn(shown, 'agent'), agent.name)));
