import type { Prices } from '../model/cost.ts';
import type { ModelTarget } from '../model/types.ts';
import type { ModelRef, Rule } from '../protocol/types.ts';

/** An agent as a turn needs it. */
export type AgentProfile = {
  readonly name: string;
  /** Comes first in what the model is told; empty for none. */
  readonly prompt: string;
  readonly rules: readonly Rule[];
  /** How many steps a turn may take. In the last one the model may call no tools. */
  readonly steps: number;
};

/** A model as a turn needs it. */
export type ResolvedModel = {
  readonly ref: ModelRef;
  readonly target: ModelTarget;
  readonly prices: Prices;
  /** Tokens of a request that leave room for an answer; none when the size of the context is not known. */
  readonly usableTokens: number | undefined;
  /** Whether a `think` section at the beginning of a text becomes a reasoning part of its own. */
  readonly splitsThinking: boolean;
  /** Models that take none are told of none. */
  readonly takesTools: boolean;
};

/** Who sums up a conversation. No prompt of its own: it is told what the agent at work is told. */
export type Summariser = { readonly prompt: string | undefined; readonly model: ResolvedModel };

/** Who names sessions, and the words that it is told. */
export type Titler = { readonly prompt: string; readonly model: ResolvedModel };

/** Who answers: an agent's manners, the model that speaks for it, and who makes room when the context is full. */
export type Responder = {
  readonly agent: AgentProfile;
  readonly model: ResolvedModel;
  readonly summariser: Summariser;
};
