import type { Prices } from '../model/cost.ts';
import type { ModelTarget } from '../model/types.ts';
import type { ModelRef, Rule } from '../protocol/types.ts';

/** An agent as a turn needs it. */
export type AgentProfile = {
  readonly name: string;
  /** The beginning of the system prompt; empty for none. */
  readonly prompt: string;
  readonly rules: readonly Rule[];
  /** How many steps a turn may take. In the last one the model must not call tools. */
  readonly steps: number;
};

/** A model as a turn needs it. */
export type ResolvedModel = {
  readonly ref: ModelRef;
  readonly target: ModelTarget;
  readonly prices: Prices;
  /** Tokens of a request that leave enough of the context for an answer; none when the size of the context is not known. */
  readonly usableTokens: number | undefined;
  /** Whether a `think` section at the beginning of a text becomes a reasoning part of its own. */
  readonly splitsThinking: boolean;
  /** A model without tool calls gets no tools. */
  readonly takesTools: boolean;
  /** What it reads beside text, as the configuration says: `image`, `audio`, `video`, `pdf`. */
  readonly media: readonly string[];
};

/** The model that summarises a conversation. Without a prompt of its own it gets that of the answering agent. */
export type Summariser = { readonly prompt: string | undefined; readonly model: ResolvedModel };

/** The model that writes titles of sessions, and its prompt. */
export type Titler = { readonly prompt: string; readonly model: ResolvedModel };

/** What answers a message: an agent, its model, and the summariser for a full context. */
export type Responder = {
  readonly agent: AgentProfile;
  readonly model: ResolvedModel;
  readonly summariser: Summariser;
};
