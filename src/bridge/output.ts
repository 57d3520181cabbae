/** Tokens of an exchange, in OpenAI's sense: `prompt` holds the cached ones, `completion` those of reasoning. */
export type Usage = {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly reasoning: number;
};

export const NO_USAGE: Usage = { prompt: 0, cached: 0, completion: 0, reasoning: 0 };

/** Why an answer failed, in OpenAI's words. `status` is that of an answer of which nothing was sent yet. */
export type AnswerFailure = { readonly status: number; readonly code: string; readonly message: string };

/** A question of the agent to the user: may this tool call be made? `id` is the agent's own (`per_...`). */
export type ApprovalRequest = {
  readonly id: string;
  readonly sessionID: string;
  readonly tool: string;
  /** The arguments as JSON, bounded: long texts in it are shortened. */
  readonly input: string;
  /** Even so it was too long: its end is missing, and only the whole id approves it. */
  readonly isCut?: boolean;
  /** Words for the person who decides, such as those of a recharge's preview; none are usual. */
  readonly notes: readonly string[];
};

/** A call of a tool that runs at the agent. Nobody else is to run it. */
export type AgentToolCall = { readonly id: string; readonly name: string; readonly input: string };

export type AnswerEnd = {
  readonly finish: 'stop' | 'length' | 'content_filter';
  readonly usage: Usage;
  /** Questions that the answer ended with; their run waits at the agent. */
  readonly approvalRequests: readonly ApprovalRequest[];
};

/**
 * An answer on its way to a client, piece by piece. Items (texts, reasonings, calls) do not overlap, except that calls may run
 * beside each other; each that was begun is ended. The last one is `end` or `failure`, and there is exactly one of these.
 */
export type OutputEvent =
  /** More of a text; the first of an id begins it. Texts are never empty. */
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
    }
  | { readonly kind: 'end'; readonly end: AnswerEnd }
  | { readonly kind: 'failure'; readonly failure: AnswerFailure };

/** What stands between two texts of an answer. */
const BETWEEN = '\n\n';

/**
 * Says what goes before a piece of text, by the id of the text that it belongs to, so that each text begins a paragraph.
 * It has to hear of every piece, in order.
 */
export const createParagraphJoiner = (): ((id: string) => string) => {
  let last: string | undefined;
  return (id) => {
    const gap = last === undefined || last === id ? '' : BETWEEN;
    last = id;
    return gap;
  };
};
