import type { TokenLogprob } from './logprobs.ts';

/** How much a model is to think: gpt-oss knows only the three levels and must never be sent `false`. */
export type Think = boolean | 'low' | 'medium' | 'high';

/** An image in base64, without a data URL's head. */
export type ChatImage = { readonly mediaType: string; readonly base64: string };

/** One call to a chat model, in no server's dialect yet. */
export type ChatCall = {
  readonly model: string;
  /** Omitted for models whose chat template holds their instructions. */
  readonly system?: string;
  readonly user: string;
  /** A second message of the user, after the first. */
  readonly afterUser?: string;
  /** Settings of the model's chat template, which replace the system message where a server takes them. */
  readonly templateSettings?: object;
  readonly image?: ChatImage;
  /** JSON Schema that the answer must match; omitted where a server answered nothing usable under it. */
  readonly schema?: object;
  readonly think?: Think;
  /** How many tokens to report for each place of the answer, with their log-probabilities. */
  readonly topLogprobs?: number;
  /** The size of the model's context, prompt and answer, in tokens. */
  readonly contextTokens: number;
  /** The longest answer, thinking included, in tokens. */
  readonly outputTokens: number;
};

/** The content of a server's HTTP 200: a finished answer, an unusable one, or an error. */
export type ChatReply =
  | {
      readonly kind: 'answered';
      readonly content: string;
      readonly promptTokens: number;
      /** How many of them the server found in its cache; absent where it does not tell. */
      readonly cachedTokens?: number;
      readonly outputTokens: number;
      /** Those of each token of the content; absent where the server sent none. */
      readonly logprobs?: readonly TokenLogprob[];
    }
  /** `isFinal`: a repeated call would be answered in the same way. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly isFinal?: true }
  | { readonly kind: 'error'; readonly text: string };

/** What a server tells about a model. What it does not tell is absent: nothing is known then. */
export type ModelTraits = {
  readonly vision?: boolean;
  readonly thinking?: boolean;
  /** Its chat template has no place for a system message. */
  readonly dropsSystem?: boolean;
};

/** The chat APIs that a backend can be called with. */
export const DIALECT_NAMES = ['ollama', 'openai'] as const;
type DialectName = (typeof DIALECT_NAMES)[number];

/** A chat API: how its requests are written and its responses read. Pure functions. */
export type Dialect = {
  readonly name: DialectName;
  readonly chatPath: string;
  readonly modelsPath: string;
  readonly createBody: (call: ChatCall) => string;
  /** Whether its servers take settings of the chat template. */
  readonly takesTemplateSettings: boolean;
  readonly parseReply: (text: string, model: string) => ChatReply;
  /** The request whose answer `parseTraits` reads. It loads no model. */
  readonly askTraits: (model: string) => {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body?: string;
  };
  /** The traits of a model; empty when the text tells none. */
  readonly parseTraits: (text: string, model: string) => ModelTraits;
  /** The names of the models that a server lists; undefined when the text is no such list. */
  readonly parseModels: (text: string) => readonly string[] | undefined;
};
