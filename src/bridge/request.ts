import { Fault } from '../core/fault.ts';
import type { Span } from '../core/http/tracing.ts';
import type { SentFile, SentMessage, SentPart } from './turns/port.ts';

/** A file of a message. `at`: its path in the body that it came in. */
export type PromptFile = SentFile & { readonly at?: string };

/** A piece of a message. */
export type PromptPart = Extract<SentPart, { readonly type: 'text' }> | PromptFile;

/** A tool that the client makes calls of. `at`: its path in the body. */
export type RequestTool = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly at: string;
  /** It takes one free text, which the model gives in the member `input`, and comes back as a custom call. */
  readonly isCustom: boolean;
};

/** The client's tools that a model may call. `choice`: whether it has to call one first, and which. */
export type RequestTools = {
  readonly tools: readonly RequestTool[];
  readonly choice: 'auto' | 'required' | { readonly name: string };
  /** Whether it may make several calls at once. */
  readonly isParallel: boolean;
};

/** A response that a request goes on after. `itemID`: of one of its items, where the client sends that alone. */
export type ResponseReference =
  | { readonly kind: 'after'; readonly responseID: string }
  | { readonly kind: 'after-item'; readonly itemID: string };

/**
 * What a client sends about the conversation that a request belongs to. `isIncremental`: the client may send only what is new and rely
 * on the agent for the rest; otherwise it sends everything each time, and what it sends is the history.
 */
export type ConversationReference =
  | { readonly kind: 'unnamed' }
  | {
      readonly kind: 'named';
      readonly id: string;
      readonly isIncremental: boolean;
      /** Whether all that comes with the request is new to the conversation, which its client has created. */
      readonly appends?: boolean;
    }
  | ResponseReference;

/** The most characters of a rejection's reason that an agent accepts. */
export const REASON_CHARS = 4000;

/** An answer to permission requests of the agent, in a text or in the header `x-approval`. */
export type ApprovalDecision = {
  readonly isApproved: boolean;
  /** Ids of requests, whole or their last characters; or all that the last answer has shown. */
  readonly ids: readonly string[] | 'all';
  /** The reason of a rejection, for the agent. */
  readonly message?: string;
};

/**
 * The form of an answer that has to be one JSON value: a text, or the arguments of a call of a client's function, for an agent server
 * that takes no functions. `schemaAt`: the path of the schema in the body.
 */
export type AnswerFormat = {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly schemaAt: string;
} & ({ readonly kind: 'text' } | { readonly kind: 'call'; readonly name: string });

/** What is asked of the agent, whichever endpoint it came by. */
export type BridgeRequest = {
  /** As the client wrote it; nothing stands for the default. */
  readonly model: string | undefined;
  /** Instructions of the client, empty if there are none. */
  readonly system: string;
  /** The messages before `input`, in order. */
  readonly history: readonly SentMessage[];
  /** All messages of the user since the last answer, and results of its calls before them; at least one. */
  readonly input: readonly SentMessage[];
  /** All files in both. */
  readonly files: readonly PromptFile[];
  /** The beginning of the answer, which the client has written and the agent is asked to continue. Never empty. */
  readonly prefill?: string | undefined;
  /** The tools that the client brings; undefined if it brings none. */
  readonly clientTools?: RequestTools | undefined;
  readonly isStreamed: boolean;
  /** The reasoning effort that was wished for, a variant's name at the agent. */
  readonly effort: string | undefined;
  /** Whether the conversation is to be kept; `false` only when the client asks for that. */
  readonly isStored: boolean;
  readonly conversation: ConversationReference;
  /** A title, tags or the like for a chat front end: it belongs to no conversation. */
  readonly isBackgroundTask: boolean;
  /** Whether the answer goes on without its client, who looks at it when it likes. */
  readonly isBackground?: boolean;
  readonly approval: ApprovalDecision | undefined;
  /** Decisions that are all of the prompt, in a form of their own; empty if the prompt is no user's. The header comes before them. */
  readonly approvals?: readonly ApprovalDecision[] | undefined;
  /** Undefined for a text in any form. */
  readonly format?: AnswerFormat | undefined;
  /** Members of the body that were given and have no effect here, for a header that says so. */
  readonly ignored: readonly string[];
  /** The request in its trace, where there is one. The agent is prompted in it. */
  readonly span?: Span;
};

/** Whether no later request can continue this one, so that its session is deleted when it ends. */
export const isOneOff = ({ isBackgroundTask, isStored, conversation }: BridgeRequest): boolean =>
  isBackgroundTask || (!isStored && conversation.kind === 'unnamed');

/** The files of a message, in order. */
export const filesOfParts = (parts: readonly PromptPart[]): readonly PromptFile[] =>
  parts.filter((part): part is PromptFile => part.type === 'file');

/** The words of a message, without its files. */
export const textOfParts = (parts: readonly PromptPart[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');

/** Adds an answer to messages: to the one before it, where that is an answer as well, and nothing if it is empty. */
export const addAnswer = (
  messages: SentMessage[],
  { role, text = '', calls = [] }: Extract<SentMessage, { readonly role: 'assistant' }>,
): void => {
  const before = messages.at(-1);
  const last = before?.role === 'assistant' ? before : undefined;
  const allText = [last?.text ?? '', text].filter((one) => one !== '').join('\n\n');
  const allCalls = [...(last?.calls ?? []), ...calls];
  if (allText === '' && allCalls.length === 0) return;
  const joined = {
    ...(allText === '' ? {} : { text: allText }),
    ...(allCalls.length === 0 ? {} : { calls: allCalls }),
  };
  messages.splice(last === undefined ? messages.length : -1, 1, { role, ...joined });
};

/** The words of the user's messages. */
export const userTextIn = (messages: readonly SentMessage[]): string =>
  messages
    .flatMap((message) => (message.role === 'user' ? [textOfParts(message.parts)] : []))
    .filter((text) => text !== '')
    .join('\n\n');

/** A refusal of what a client sent, with OpenAI's codes. The message must never quote what came. */
export const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** A value of another type than a member has. `at`: its path in the body. */
export const wrongType = (at: string, expected: string): Fault =>
  badInput('invalid_type', at, `Invalid type at '${at}': expected ${expected}`);

/** A value that no server takes. `why`: what was expected. */
export const invalidValue = (at: string, why: string): Fault =>
  badInput('invalid_value', at, `Invalid value at '${at}': ${why}`);

/** A value that is valid, and that there is nothing for here. */
export const unsupportedValue = (at: string, why: string): Fault =>
  badInput('unsupported_value', at, `Unsupported value at '${at}': ${why}`);

/** A member that lacks. */
export const missingMember = (at: string): Fault =>
  badInput('missing_required_parameter', at, `Missing required parameter: '${at}'`);

/** Whether a client says that it has sent a request before (`x-stainless-retry-count`, as OpenAI's clients count). */
export const isSentAgain = (headers: Headers): boolean => Number(headers.get('x-stainless-retry-count') ?? 0) > 0;
