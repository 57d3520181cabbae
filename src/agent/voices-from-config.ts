import {
  type AgentConfig,
  type AgentServerConfig,
  type ModelConfig,
  modelConfigFor,
} from './config/agent-server-config.ts';
import { defaultPrompt } from './default-prompts.ts';
import type { ModelRef } from './session.ts';
import type { ModelVoice } from './voice.ts';
import type { KnownAgent, Voices } from './voices.ts';

/** The longest answer that is asked for, unless the model has less room. */
const LONGEST_OUTPUT = 32_000;
const RESERVED = 20_000;

const agentFrom = (agent: AgentConfig, instructions: readonly string[]): KnownAgent => {
  const { name, rules, steps, model, mode, isHidden, description = '' } = agent;
  const prompt = [agent.prompt ?? defaultPrompt(name), ...instructions].join('\n\n');
  return {
    name,
    prompt,
    rules,
    steps,
    model,
    takesTasks: mode !== 'primary' && !isHidden,
    answersPrompts: !isHidden,
    description,
  };
};

const longestOutput = ({ limit }: ModelConfig): number | undefined =>
  limit.output === 0 ? undefined : Math.min(limit.output, LONGEST_OUTPUT);

/** How much a request may take of the context before the session is summed up. */
const usableTokens = (model: ModelConfig, { compaction }: AgentServerConfig): number | undefined => {
  const { context, input } = model.limit;
  if (!compaction.isAuto || (context === 0 && input === undefined)) return undefined;
  const output = longestOutput(model) ?? RESERVED;
  const reserved = compaction.reservedTokens ?? Math.min(RESERVED, output);
  const usable = input === undefined ? context - Math.max(output, reserved) : input - reserved;
  // A window too small for all this is used by half.
  return usable > 0 ? usable : Math.floor((input ?? context) / 2);
};

/** Who can answer, from the startup configuration. */
export const voicesFrom = (config: AgentServerConfig): Voices => {
  const instructions = config.instructions.map(({ text }) => text);
  const modelFor = (ref: ModelRef, agentName: string): ModelVoice | undefined => {
    const agent = config.agents.get(agentName);
    const provider = config.providers.get(ref.providerID);
    const model = modelConfigFor(config, ref);
    if (provider === undefined || model === undefined) return undefined;
    const preferred = agent?.variant !== undefined && model.variants.has(agent.variant) ? agent.variant : undefined;
    const variant = ref.variant ?? preferred;
    const added = variant === undefined ? {} : model.variants.get(variant);
    if (added === undefined) return undefined;
    return {
      ref: variant === undefined ? ref : { ...ref, variant },
      target: {
        providerID: provider.id,
        npm: provider.npm,
        baseURL: provider.baseURL,
        apiKey: provider.apiKey,
        headers: model.headers,
        upstreamID: model.upstreamID,
        options: { ...model.options, ...added, ...agent?.options },
        maxOutputTokens: longestOutput(model),
        temperature: model.takesTemperature ? agent?.temperature : undefined,
        topP: agent?.topP,
      },
      prices: model.cost,
      usableTokens: usableTokens(model, config),
      splitsThinking: model.reasoning === 'split',
      takesTools: model.takesTools,
    };
  };
  return {
    agents: new Map([...config.agents].map(([name, agent]) => [name, agentFrom(agent, instructions)])),
    defaultAgent: config.defaultAgent,
    defaultModel: config.defaultModel,
    smallModel: config.smallModel,
    models: [...config.providers.values()].flatMap(({ id, models }) => [...models.keys()].map((key) => `${id}/${key}`)),
    modelFor,
  };
};
