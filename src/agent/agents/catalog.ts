import { Fault } from '../../core/fault.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import type { ModelRef } from '../protocol/types.ts';
import type { AgentProfile, ResolvedModel, Summariser, Titler } from './types.ts';

/** A configured agent, and the model it prefers. */
export type KnownAgent = AgentProfile & {
  readonly model: ModelRef | undefined;
  /** Whether other agents may give work to it with the `task` tool. */
  readonly canTakeTasks: boolean;
  /** Whether a prompt may name it. */
  readonly canAnswerPrompts: boolean;
  readonly description: string;
};

/** A prompt that clients send by name: `template` with its placeholders, and who answers it, if that is not left open. */
export type KnownCommand = {
  readonly template: string;
  readonly agent: string | undefined;
  readonly model: ModelRef | undefined;
};

/** The configured agents, models and commands. */
export type AgentCatalog = {
  readonly agents: ReadonlyMap<string, KnownAgent>;
  readonly defaultAgent: string;
  readonly commands: ReadonlyMap<string, KnownCommand>;
  readonly defaultModel: ModelRef;
  /** What writes the title of a session in which this model answers; undefined when sessions keep their default titles. */
  readonly titlerFor: (ref: ModelRef) => Titler | undefined;
  /** Names of all models, `provider/key`. */
  readonly models: readonly string[];
  /** Keys and passwords of the configuration, which no error may quote. */
  readonly secrets: readonly string[];
  /** The model with the options of an agent; undefined when there is no such model or variant. */
  readonly modelFor: (ref: ModelRef, agent: string) => ResolvedModel | undefined;
  /** The names of a model's variants; none where there is no such model. */
  readonly variantsFor: (ref: ModelRef) => readonly string[];
  /** What summarises a conversation of this agent and model; undefined when there is no such model. */
  readonly summariserFor: (ref: ModelRef, agent: string) => Summariser | undefined;
};

const bad = (param: string, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: `unknown_${param}`, param, message });

/** The agent of a name, if prompts may name it; a `bad-input` fault that names the nearest one otherwise. */
export const requireAgent = (catalog: AgentCatalog, name: string): KnownAgent => {
  const agent = catalog.agents.get(name);
  if (agent?.canAnswerPrompts === true) return agent;
  const known = [...catalog.agents.values()].filter(({ canAnswerPrompts }) => canAnswerPrompts).map((one) => one.name);
  const what =
    agent === undefined
      ? notConfiguredText('agent', name, known, catalog.secrets)
      : `agent "${name}" answers no prompts`;
  throw bad('agent', `${what}. Agents are: ${known.join(', ')}`);
};

/** A model that exists, before anything is stored; a `bad-input` fault that names the nearest one otherwise. */
export const requireModel = (catalog: AgentCatalog, ref: ModelRef): ModelRef => {
  if (catalog.modelFor(ref, catalog.defaultAgent) !== undefined) return ref;
  const { providerID, modelID } = ref;
  const name = `${providerID}/${modelID}`;
  if (catalog.models.includes(name)) {
    const variants = catalog.variantsFor(ref).join(', ');
    throw bad(
      'model',
      `variant: ${name} has no such variant. Its variants are: ${variants === '' ? 'none' : variants}`,
    );
  }
  const what = notConfiguredText('model', name, catalog.models, catalog.secrets);
  throw bad('model', `${what}. GET /config/providers lists all`);
};
