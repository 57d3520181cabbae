import { nearestName } from '../../core/config.ts';
import { Fault } from '../../core/fault.ts';
import type { ModelRef } from '../protocol/types.ts';
import type { AgentVoice, ModelVoice, Summariser, Titler } from './types.ts';

/** An agent that can be asked for, and the model it prefers. */
export type KnownAgent = AgentVoice & {
  readonly model: ModelRef | undefined;
  /** Whether other agents may hand work to it with the `task` tool. */
  readonly takesTasks: boolean;
  /** Whether a prompt may name it. */
  readonly answersPrompts: boolean;
  readonly description: string;
};

/** Who can answer here, from the configuration. */
export type Voices = {
  readonly agents: ReadonlyMap<string, KnownAgent>;
  readonly defaultAgent: string;
  readonly defaultModel: ModelRef;
  /** Who names a session in which a model answers; nothing when sessions keep the titles that they begin with. */
  readonly titlerFor: (ref: ModelRef) => Titler | undefined;
  /** Names of all models, `provider/key`. */
  readonly models: readonly string[];
  /** The model as an agent speaks with it; nothing when there is none of this name or variant. */
  readonly modelFor: (ref: ModelRef, agent: string) => ModelVoice | undefined;
  /** The names of a model's variants; none where there is no such model. */
  readonly variantsOf: (ref: ModelRef) => readonly string[];
  /** Who sums up what an agent and a model have said; nothing when there is no such model. */
  readonly summariserFor: (ref: ModelRef, agent: string) => Summariser | undefined;
};

const bad = (param: string, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: `unknown_${param}`, param, message });

/** The agent of a name, if prompts may name it; a `bad-input` fault that tells the nearest one otherwise. */
export const agentNamed = (voices: Voices, name: string): KnownAgent => {
  const agent = voices.agents.get(name);
  if (agent?.answersPrompts === true) return agent;
  const known = [...voices.agents.values()].filter(({ answersPrompts }) => answersPrompts).map((one) => one.name);
  throw bad('agent', `agent: no such agent. Agents are: ${known.join(', ')}`);
};

/** A model that exists, before anything is stored; a `bad-input` fault that tells the nearest one otherwise. */
export const modelNamed = (voices: Voices, ref: ModelRef): ModelRef => {
  if (voices.modelFor(ref, voices.defaultAgent) !== undefined) return ref;
  const { providerID, modelID } = ref;
  const name = `${providerID}/${modelID}`;
  if (voices.models.includes(name)) {
    const variants = voices.variantsOf(ref).join(', ');
    throw bad(
      'model',
      `variant: ${name} has no such variant. Its variants are: ${variants === '' ? 'none' : variants}`,
    );
  }
  const nearest = nearestName(name, voices.models);
  const hint = nearest === undefined ? '' : ` The nearest is ${nearest}.`;
  throw bad('model', `model: no such model.${hint} GET /config/providers lists all`);
};
