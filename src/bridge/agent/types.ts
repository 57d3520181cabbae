/** A model of the agent: `provider/key`, which `/v1/models` lists and a prompt names. */
export type AgentModel = {
  readonly providerID: string;
  readonly modelID: string;
  readonly name: string;
  /** Names of its variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** Tokens, 0 where the agent does not say. */
  readonly contextTokens: number;
  /** The npm package through which the agent asks the model. Undefined where the agent does not say. */
  readonly adapter: string | undefined;
  /** What the model takes beside texts, as the agent shows it: `image`, `audio`, `video`, `pdf`. */
  readonly media: readonly string[];
};

/** The agent's models, in its order. */
export type AgentModels = {
  readonly models: readonly AgentModel[];
  /** `provider/key` of the agent's own default, if it names one. */
  readonly defaultModel: string | undefined;
  readonly smallModel: string | undefined;
};

/** What the bridge asks an agent server besides its turns. Both calls fault where the server is not reached, or fails. */
export type AgentClient = {
  readonly models: (signal: AbortSignal) => Promise<AgentModels>;
  /** Whether it answers: resolves if so. */
  readonly check: (signal: AbortSignal) => Promise<void>;
};
