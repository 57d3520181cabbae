import type * as v from 'valibot';
import type { StoredMessage, StoredPart, StoredRule, StoredSession } from './stored-schemas.ts';

/** The type with all members read-only, at every depth. */
export type DeepReadonly<Value> = Value extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value;

type Stored<Schema extends v.GenericSchema> = DeepReadonly<v.InferOutput<Schema>>;

/** Sessions, messages, parts and rules, as the schemas of the store define them. Times are milliseconds since the epoch. */
export type Session = Stored<typeof StoredSession>;
export type Message = Stored<typeof StoredMessage>;
export type Part = Stored<typeof StoredPart>;
export type Rule = Stored<typeof StoredRule>;
export type Action = Rule['action'];

export type AwaitedCalls = NonNullable<Session['awaitedCalls']>;
export type Revert = NonNullable<Session['revert']>;
export type Tokens = Session['tokens'];
export const NO_TOKENS: Tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

export type UserMessage = Extract<Message, { readonly role: 'user' }>;
/** Which model answers: a provider of the configuration, the model's key there, and one of its variants. */
export type ModelRef = UserMessage['model'];
/** The form in which a client wants the answer: one JSON value that fits a schema. */
export type OutputFormat = NonNullable<UserMessage['format']>;
export type ClientTools = NonNullable<UserMessage['clientTools']>;

/** One step of a model. A turn with tool calls has several, all with the same `parentID`. */
export type AssistantMessage = Extract<Message, { readonly role: 'assistant' }>;
export type MessageTokens = AssistantMessage['tokens'];
export type MessageError = NonNullable<AssistantMessage['error']>;
export type Finish = NonNullable<AssistantMessage['finish']>;

export type TextPart = Extract<Part, { readonly type: 'text' }>;
export type ReasoningPart = Extract<Part, { readonly type: 'reasoning' }>;
export type FilePart = Extract<Part, { readonly type: 'file' }>;
export type ToolPart = Extract<Part, { readonly type: 'tool' }>;
export type CompactionPart = Extract<Part, { readonly type: 'compaction' }>;
export type ToolState = ToolPart['state'];

/** What a session is doing at the moment. Sessions without an entry are idle. */
export type SessionStatus =
  | { readonly type: 'idle' }
  | { readonly type: 'busy' }
  | { readonly type: 'retry'; readonly attempt: number; readonly message: string; readonly next: number };

/** Whether an answer was begun and not completed. */
export const isUnfinished = (message: Message): boolean =>
  message.role === 'assistant' && message.time.completed === undefined;
