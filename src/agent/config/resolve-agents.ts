import { rulesOf } from '../permission-rules.ts';
import type { Rule } from '../session.ts';
import type { AgentSettings } from './agent-schema.ts';
import { agentIds, builtInOf } from './built-in-agents.ts';
import { modelRef } from './model-names.ts';
import type { AgentConfig } from './types.ts';

type Shared = { readonly rules: readonly Rule[]; readonly steps: number };

const agentFrom = (name: string, agent: AgentSettings, { rules, steps }: Shared): AgentConfig => {
  const builtIn = builtInOf(name);
  return {
    name,
    description: agent.description ?? (builtIn.description || undefined),
    mode: agent.mode ?? builtIn.mode,
    isNative: builtIn.isNative,
    isHidden: agent.hidden ?? builtIn.isHidden,
    color: agent.color,
    temperature: agent.temperature,
    topP: agent.top_p,
    model: agent.model === undefined ? undefined : modelRef(agent.model),
    variant: agent.variant,
    prompt: agent.prompt,
    options: agent.options ?? {},
    steps: agent.steps ?? steps,
    // What a built-in agent is not for stays denied, also where the file allows everything for all.
    rules: [...rules, ...rulesOf(builtIn.permission), ...rulesOf(agent.permission ?? {})],
  };
};

/** The built-in agents and those of the file, without the disabled ones. */
export const agentsFrom = (
  settings: Readonly<Record<string, AgentSettings>>,
  shared: Shared,
): ReadonlyMap<string, AgentConfig> =>
  new Map(agentIds({ agent: settings }).map((id) => [id, agentFrom(id, settings[id] ?? {}, shared)]));
