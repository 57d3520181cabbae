import type { AnswerFailure } from './errors.ts';

/**
 * Tokens of an answer, in OpenAI's sense: `prompt` includes those that a cache held and those that were written to it
 * (`cacheWritten`), `completion` includes those of reasoning.
 */
export type Usage = {
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly completion: number;
  readonly reasoning: number;
};

export const NO_USAGE: Usage = { prompt: 0, cached: 0, cacheWritten: 0, completion: 0, reasoning: 0 };

/** Longer arguments or outputs of calls are of no use to a person, and a client would have to store all of it. */
export const SHOWN_CHARS = 64 * 1024;

/** A tool call that the agent runs itself. No client may run it. */
export type AgentToolCall = {
  readonly id: string;
  /** Of the agent's message, where the call has one already. */
  readonly partID?: string;
  readonly name: string;
  readonly input: string;
};

/** A permission request of the agent, as the user sees it: may this tool call run? `id` is the agent's own (`per_...`). */
export type ApprovalRequest = {
  readonly id: string;
  readonly sessionID: string;
  readonly tool: string;
  /** The arguments as JSON of limited length: long texts in it are shortened. */
  readonly input: string;
  /** The input was still too long and its end is missing, so only the whole id approves it. */
  readonly isCut?: boolean;
  /** Text for the person who decides, such as that of a recharge's preview. Usually empty. */
  readonly notes: readonly string[];
  /** The call of the turn that it is about; undefined where that is one of a subagent. */
  readonly call?: AgentToolCall;
};

/** A call that the client has to make. `input`: its arguments as JSON. */
export type ClientCall = {
  readonly id: string;
  readonly partID?: string;
  readonly name: string;
  readonly input: string;
};

export type AnswerEnd = {
  /** `tool_calls`: with calls that the client has to make, after which the turn goes on. */
  readonly finish: 'stop' | 'length' | 'content_filter' | 'tool_calls';
  readonly usage: Usage;
  /** The approval requests that the answer ended with. Their turn waits at the agent. */
  readonly approvalRequests: readonly ApprovalRequest[];
  /** Its turn was aborted. */
  readonly isAborted?: boolean;
};

/**
 * One piece of an answer on its way to a client. Items (texts, reasonings, calls) do not overlap, except that calls may run in
 * parallel. Every item that begins also ends. The last event is `end` or `failure`, and there is exactly one of these.
 */
export type OutputEvent =
  /** More of a text. The first event of an id begins the text. `text` is never empty. */
  | { readonly kind: 'text'; readonly id: string; readonly text: string }
  | { readonly kind: 'text-end'; readonly id: string }
  | { readonly kind: 'reasoning'; readonly id: string; readonly text: string }
  | { readonly kind: 'reasoning-end'; readonly id: string }
  | { readonly kind: 'call'; readonly call: AgentToolCall }
  | {
      readonly kind: 'call-end';
      readonly call: AgentToolCall;
      readonly output: string;
      readonly isError: boolean;
      /**
       * It goes on, or begins, behind the decision that this answer ends with: it is no error, and the next answer has its result. One
       * that has not begun comes without `call`.
       */
      readonly isWaiting?: boolean;
      /** The open request that is about this very call. */
      readonly approvalRequestID?: string | undefined;
    }
  /** The call of a client's function, with arguments as JSON. The client makes it, after the answer. `id`: where the agent waits for its result. */
  | ({ readonly kind: 'client-call'; readonly id?: string } & Omit<ClientCall, 'id'>)
  /** Why there is no answer in the form that was asked for. No text comes beside it. */
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'end'; readonly end: AnswerEnd }
  | { readonly kind: 'failure'; readonly failure: AnswerFailure };

const PARAGRAPH_BREAK = '\n\n';

/**
 * Returns a function from a text's id to what has to be written before its next piece, so that each text begins a paragraph.
 * Call it for every piece, in order.
 */
export const createParagraphJoiner = (): ((id: string) => string) => {
  let last: string | undefined;
  return (id) => {
    const gap = last === undefined || last === id ? '' : PARAGRAPH_BREAK;
    last = id;
    return gap;
  };
};
