/** How much a model is to think: gpt-oss knows only the three levels and must never be sent `false`. */
export type Think = boolean | 'low' | 'medium' | 'high';

/** One question to a chat model, in no server's words yet. */
export type ChatRequest = {
  readonly model: string;
  readonly system: string;
  readonly user: string;
  /** Base64 without a data URL's head. */
  readonly image?: { readonly mediaType: string; readonly base64: string };
  /** JSON Schema that the answer must fit; left out where a server's grammar got in the way. */
  readonly schema?: object;
  readonly think?: Think;
  /** What the model's context must hold: prompt and answer, in tokens. */
  readonly contextTokens: number;
  /** The most it may answer, thinking included, in tokens. */
  readonly outputTokens: number;
};

/** What a server's 200 holds: a finished answer, no usable answer, or an error in disguise. */
export type ChatReply =
  | { readonly kind: 'said'; readonly content: string; readonly promptTokens: number; readonly outputTokens: number }
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'error'; readonly text: string };

export const DIALECT_NAMES = ['ollama', 'openai'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

/** A way of asking: how a call is written and its answer read. Both are pure. */
export type Dialect = {
  readonly name: DialectName;
  readonly chatPath: string;
  readonly modelsPath: string;
  readonly bodyOf: (call: ChatRequest) => string;
  readonly replyFrom: (text: string, model: string) => ChatReply;
  /** The names of the models a server lists, or nothing when the text is no such list. */
  readonly modelsFrom: (text: string) => readonly string[] | undefined;
};
