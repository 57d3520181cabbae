import type { PromptPart } from '../request.ts';
import type { AgentEventRecord, MessageRecord, PermissionRecord, SessionRecord } from './schema.ts';

/** A model of the agent: `provider/key`, which `/v1/models` lists and a prompt names. */
export type AgentModel = {
  readonly providerID: string;
  readonly modelID: string;
  readonly name: string;
  /** Names of its variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** Tokens, 0 where the agent does not say. */
  readonly contextTokens: number;
};

export type AgentModels = {
  readonly models: readonly AgentModel[];
  /** `provider/key` of the model that the agent itself would take, if it names one. */
  readonly defaultModel: string | undefined;
  readonly smallModel: string | undefined;
};

export type Prompt = {
  readonly parts: readonly (PromptPart & { readonly synthetic?: boolean })[];
  readonly model: { readonly providerID: string; readonly modelID: string } | undefined;
  readonly variant: string | undefined;
  readonly agent: string | undefined;
  readonly system: string;
  /** Whether the model may call tools. */
  readonly hasTools: boolean;
};

export type PermissionAnswer = { readonly reply: 'once' } | { readonly reply: 'reject'; readonly message?: string };

/**
 * The agent server over HTTP, ours or another that speaks OpenCode 1.x. Every call may fault: `not-found` where the agent
 * knows no such thing, `agent-failed` for every other refusal, `backend-error` when it was not reached or broke off.
 * Nothing is ever sent twice to a server, and to another one only what the first has not begun, or what twice is no different.
 */
export type AgentClient = {
  readonly models: (signal: AbortSignal) => Promise<AgentModels>;
  readonly createSession: (
    given: { readonly title: string; readonly metadata: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ) => Promise<SessionRecord>;
  readonly session: (id: string, signal: AbortSignal) => Promise<SessionRecord>;
  /** The latest first, none below another session. */
  readonly sessions: (limit: number, signal: AbortSignal) => Promise<readonly SessionRecord[]>;
  readonly setMetadata: (id: string, metadata: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<void>;
  readonly deleteSession: (id: string, signal: AbortSignal) => Promise<void>;
  /** Asks, and waits for the whole turn: the last message of it. */
  readonly prompt: (sessionID: string, prompt: Prompt, signal: AbortSignal) => Promise<MessageRecord>;
  /** All messages, in order. */
  readonly messages: (sessionID: string, signal: AbortSignal) => Promise<readonly MessageRecord[]>;
  /** Ids of the sessions at work. */
  readonly busySessions: (signal: AbortSignal) => Promise<ReadonlySet<string>>;
  readonly abort: (sessionID: string, signal: AbortSignal) => Promise<void>;
  readonly permissionRequests: (signal: AbortSignal) => Promise<readonly PermissionRecord[]>;
  readonly answerPermission: (id: string, answer: PermissionAnswer, signal: AbortSignal) => Promise<void>;
  /** Turns down a question that is no permission (`question.asked`): nobody here can answer it. */
  readonly rejectQuestion: (id: string, signal: AbortSignal) => Promise<void>;
};

/** What the event stream tells. `gap`: events were lost, so whoever listens has to look at the agent itself. */
export type AgentEventUpdate = { readonly kind: 'event'; readonly event: AgentEventRecord } | { readonly kind: 'gap' };

/** The agent's events, one connection for everybody; it is opened again whenever it ends, without loss where the agent can. */
export type AgentEventStream = {
  /** Resolves once the stream is open, at once if it is. Faults with `backend-error` when it does not open in time. */
  readonly untilOpen: (signal: AbortSignal) => Promise<void>;
  readonly isOpen: () => boolean;
  /** Hears of every event from now on; the returned function ends that. A listener must not throw and must not wait. */
  readonly subscribe: (listener: (news: AgentEventUpdate) => void) => () => void;
  readonly stop: () => void;
};
