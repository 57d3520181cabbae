/** Which model answers: a provider of the configuration, the model's key there, and one of its variants. */
export type ModelRef = { readonly providerID: string; readonly modelID: string; readonly variant?: string };

export type Tokens = {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cache: { readonly read: number; readonly write: number };
};

export type Action = 'allow' | 'ask' | 'deny';

/** What a permission rule says of the tools and patterns that it covers. */
export type Rule = { readonly permission: string; readonly pattern: string; readonly action: Action };

/** Where a session was turned back to: what is said from there on goes with the next prompt, unless that is taken back first. */
export type Revert = { readonly messageID: string; readonly partID?: string };

/** A session as it is stored and as the wire shows it (OpenCode 1.x, `GET /session/{id}`). Times are milliseconds. */
export type Session = {
  readonly id: string;
  readonly slug: string;
  readonly projectID: string;
  readonly directory: string;
  readonly parentID?: string;
  readonly title: string;
  readonly agent?: string;
  /** `id` is the model's key here, unlike in messages. */
  readonly model?: { readonly providerID: string; readonly id: string; readonly variant?: string };
  readonly version: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly permission?: readonly Rule[];
  readonly revert?: Revert;
  readonly cost: number;
  readonly tokens: Tokens;
  readonly time: {
    readonly created: number;
    readonly updated: number;
    readonly compacting?: number;
    readonly archived?: number;
  };
};

export const NO_TOKENS: Tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

/** What a session is doing at the moment. Sessions without an entry are idle. */
export type SessionStatus =
  | { readonly type: 'idle' }
  | { readonly type: 'busy' }
  | { readonly type: 'retry'; readonly attempt: number; readonly message: string; readonly next: number };
