import { Fault } from '../core/fault.ts';
import type { Span } from '../core/http/tracing.ts';
import { parseModelJson } from '../core/json.ts';

/** A file of a prompt. Its `url` is a `data:` URL. `at`: its path in the body that it came in. */
export type PromptFile = {
  readonly type: 'file';
  readonly at?: string;
  readonly mime: string;
  readonly filename?: string;
  readonly url: string;
};

/** A piece of a prompt in the agent's words. */
export type PromptPart = { readonly type: 'text'; readonly text: string } | PromptFile;

/** An earlier message of a conversation, as the client sends it. `files`: those that came with it, if any did. */
export type HistoryMessage = {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly files?: readonly PromptFile[];
  /** The client's own calls in it and their results, each with its call's id. `text` describes them, too, and `words` is the rest. */
  readonly calls?: readonly string[];
  readonly words?: string;
};

/** A function that the client makes calls of. `at`: its path in the body. */
export type ClientFunction = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly at: string;
};

/** The client's functions that a model may call. `choice`: whether it has to call one first, and which. */
export type ClientFunctions = {
  readonly tools: readonly ClientFunction[];
  readonly choice: 'auto' | 'required';
  /** Whether it may make several calls at once. */
  readonly isParallel: boolean;
};

/** What a client's function gave. */
export type ClientToolResult = { readonly callID: string; readonly output: string };

/** Results of the client's calls at the end of a request. */
export type ClientToolResults = {
  readonly results: readonly ClientToolResult[];
  /** Files that came with them. */
  readonly files: readonly PromptFile[];
  /** The messages up to the calls. */
  readonly history: readonly HistoryMessage[];
  /** The results as a history has them. Of a list in which calls and results alternate, with all of its results. */
  readonly calls: readonly string[];
  /** The other results of such a list, as they may be of the same calls, or of calls before. */
  readonly earlier: readonly (ClientToolResult & { readonly described: readonly PromptPart[] })[];
  /** What `history` may have too much for that: the last of these, the last two and so on. */
  readonly withheld: readonly string[];
  /** The results as text, for an agent that does not wait for them. */
  readonly described: readonly PromptPart[];
  /** What the user has written after them; mostly nothing. */
  readonly after: readonly PromptPart[];
};

/** A response that a request goes on after. `itemID`: of one of its items, where the client sends that alone. */
export type ResponseReference =
  | { readonly kind: 'after'; readonly responseID: string }
  | { readonly kind: 'after-item'; readonly itemID: string };

/**
 * What a client sends about the conversation that a request belongs to. `remembers`: the client sends only what is new and relies
 * on us for the rest; otherwise it sends everything each time, and what it sends is the history.
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
 * The form of an answer that has to be one JSON value: a text, or the arguments of a call of a client's function. `schemaAt`: the
 * path of the schema in the body.
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
  /** The messages before the prompt, in order. */
  readonly history: readonly HistoryMessage[];
  /** All user messages since the last answer, or results of the client's calls as text; at least one part. */
  readonly prompt: readonly PromptPart[];
  /** The beginning of the answer, which the client has written and the agent is asked to continue. Never empty. */
  readonly prefill?: string;
  /** Results of the client's own calls, if the request ends with them. `history` and `prompt` have them as text. */
  readonly toolResults?: ClientToolResults | undefined;
  /** The functions that the client brings; undefined if it brings none, or if a call of one is forced (`format`). */
  readonly clientTools?: ClientFunctions | undefined;
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
  readonly approvals?: readonly ApprovalDecision[];
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

/**
 * Whether the client that sent `earlier` has gone on after it in a conversation that it names: with the whole history, or with
 * new words alone. In one without a name it may be another client.
 */
export const continuesAfter = (later: BridgeRequest, earlier: BridgeRequest | undefined): boolean => {
  const { conversation, history } = later;
  if (earlier?.conversation.kind !== 'named' || conversation.kind !== 'named') return false;
  if (earlier.conversation.id !== conversation.id) return false;
  if (history.length === 0) return conversation.isIncremental;
  const next = history[earlier.history.length];
  return next?.role === 'user' && next.text === textOfParts(earlier.prompt);
};

/** The files of a prompt, in order. */
export const filesOfParts = (prompt: readonly PromptPart[]): readonly PromptFile[] =>
  prompt.filter((part): part is PromptFile => part.type === 'file');

/** All files of a request, those of its history first. */
export const filesOfRequest = ({
  history,
  prompt,
}: Pick<BridgeRequest, 'history' | 'prompt'>): readonly PromptFile[] => [
  ...history.flatMap(({ files = [] }) => files),
  ...filesOfParts(prompt),
];

/** The words of a prompt, without its files. */
export const textOfParts = (prompt: readonly PromptPart[]): string =>
  prompt.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');

/** A call, or its result, as a history has it: distinct from the text around it, and from others that are equal. */
export const callInHistory = (callID: string, part: PromptPart): string =>
  `${callID}\n${part.type === 'text' ? part.text : ''}`;

/** A call of a client's tool as text, for an agent that does not have that tool. Some clients write the JSON of `input` anew. */
export const describeToolCall = (name: string, input: string): PromptPart => {
  const value = parseModelJson(input);
  const json = value === undefined ? input : JSON.stringify(value);
  return { type: 'text', text: `[called ${name}${json === '' ? '' : ` with ${json}`}]` };
};

/** The result of a client's call as text, likewise. */
export const describeToolOutput = (name: string, output: string): string => `[${name} returned]\n${output}`;

/** A key that came with another request before. */
export const IDEMPOTENCY_KEY_REUSED = new Fault({
  kind: 'bad-input',
  code: 'idempotency_key_reused',
  param: 'Idempotency-Key',
  message: 'This Idempotency-Key came with another request before: use a new key for a new request',
});

/** A refusal of what a client sent, with OpenAI's codes. The message must never quote what came. */
export const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** Whether a client says that it has sent a request before (`x-stainless-retry-count`, as OpenAI's clients count). */
export const isSentAgain = (headers: Headers): boolean => Number(headers.get('x-stainless-retry-count') ?? 0) > 0;
