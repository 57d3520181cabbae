import type { AgentCatalog, KnownAgent, KnownCommand } from '../../../src/agent/agents/catalog.ts';
import { TITLE_PROMPT } from '../../../src/agent/agents/from-config.ts';
import type { ResolvedModel, Summariser, Titler } from '../../../src/agent/agents/types.ts';
import type { ModelRef, Rule } from '../../../src/agent/protocol/types.ts';

/** What a test says of the agents and the models of its server. */
export type CatalogGiven = {
  readonly rules?: readonly Rule[];
  readonly agents?: readonly Partial<KnownAgent>[];
  readonly resolvedModel?: Partial<ResolvedModel>;
  /** Models that there are beside the usual one. They speak as that one does. */
  readonly models?: readonly ModelRef[];
  readonly commands?: readonly (readonly [name: string, command: KnownCommand])[];
  /** None: nobody names sessions. */
  readonly titler?: Partial<Titler> | null;
  readonly summariser?: Summariser;
};

const ALLOW_ALL: Rule = { permission: '*', pattern: '*', action: 'allow' };

/** One agent that may do everything and one model, and what a test has beside them or in their place. */
export const catalogOf = (given: CatalogGiven): AgentCatalog => {
  const resolvedModel: ResolvedModel = {
    ref: { providerID: 'demo', modelID: 'main' },
    target: {
      providerID: 'demo',
      npm: '@ai-sdk/openai-compatible',
      baseURL: 'http://model.test/v1',
      apiKey: undefined,
      headers: {},
      upstreamID: 'main',
      options: {},
      maxOutputTokens: undefined,
      temperature: undefined,
      topP: undefined,
    },
    prices: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
    usableTokens: undefined,
    splitsThinking: false,
    takesTools: true,
    media: ['text', 'image'],
    ...given.resolvedModel,
  };
  const build: KnownAgent = {
    name: 'build',
    prompt: 'You build.',
    rules: given.rules ?? [ALLOW_ALL],
    steps: 50,
    model: undefined,
    canTakeTasks: false,
    canAnswerPrompts: true,
    description: 'builds',
  };
  const agents = (given.agents ?? []).map((agent): KnownAgent => ({ ...build, ...agent }));
  return {
    agents: new Map([build, ...agents].map((agent) => [agent.name, agent])),
    defaultAgent: 'build',
    commands: new Map(given.commands ?? []),
    defaultModel: resolvedModel.ref,
    titlerFor: (ref) =>
      given.titler === null ? undefined : { prompt: TITLE_PROMPT, model: { ...resolvedModel, ref }, ...given.titler },
    models: ['demo/main'],
    secrets: [],
    variantsFor: () => [],
    modelFor: (ref) => {
      const known = [resolvedModel.ref, ...(given.models ?? [])];
      const isKnown = known.some((one) => one.providerID === ref.providerID && one.modelID === ref.modelID);
      return isKnown ? { ...resolvedModel, ref } : undefined;
    },
    summariserFor: () => given.summariser,
  };
};
