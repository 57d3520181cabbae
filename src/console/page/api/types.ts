/** A verdict in the feed, or why there was none. It never holds a text. */
export type FeedVerdict = {
  readonly at: number;
  readonly alias: string | null;
  readonly flagged?: readonly string[];
  readonly highest?: { readonly category: string; readonly score: number };
  readonly duration_ms: number;
  readonly hidden?: boolean;
  readonly cache?: 'hit' | 'miss';
  readonly face?: 'moderations' | 'guard';
  readonly error?: string;
};

/** A backend key of the gateway by its fingerprint, as the gateway's admin routes report it. */
export type ShownKey = {
  readonly fingerprint: string;
  readonly state: 'active' | 'half-open' | 'probing' | 'cooling';
  readonly reason?: string;
  readonly rests_ms: number;
  readonly strikes: number;
  readonly models?: readonly {
    readonly model: string;
    readonly state: string;
    readonly reason?: string;
    readonly rests_ms: number;
  }[];
};

/** The answer of `POST /api/keys/{fingerprint}`, and how far the change reaches at once. */
export type KeyChanged = ShownKey & { readonly applies_to: 'process' | 'replicas' };

/** The answer of `GET /api/moderation`: the gateway's own report. */
export type ModerationState = {
  readonly time: number;
  readonly version: string;
  readonly keys: readonly ShownKey[];
  /** Why there can be no verdicts now. */
  readonly ready?: { readonly reasons?: readonly string[] };
  readonly breaker: { readonly state: 'closed' | 'half-open' | 'open'; readonly rests_ms: number };
  readonly calls: { readonly running: number; readonly waiting: number; readonly limit: number };
  readonly cache: { readonly verdicts: number; readonly limit: number };
  readonly tokens: readonly { readonly model: string; readonly prompt: number; readonly completion: number }[];
  readonly unusable: readonly { readonly model: string; readonly reason: string; readonly count: number }[];
  readonly aliases: readonly { readonly alias: string; readonly model: string; readonly policy: string }[];
  readonly policies: readonly { readonly version: string }[];
};

/** The answer of `POST /api/check`. */
export type CheckResult = {
  readonly backend_model: string;
  readonly policy: string;
  readonly cache: string;
  readonly duration_ms: number;
  readonly result: {
    readonly flagged: boolean;
    readonly categories: Readonly<Record<string, boolean>>;
    readonly category_scores: Readonly<Record<string, number | null>>;
    /** The operator's own categories. */
    readonly x_categories?: Readonly<Record<string, { readonly flagged: boolean; readonly score: number }>>;
  };
  readonly thresholds: Readonly<Record<string, number>>;
  readonly views: readonly {
    readonly kind: string;
    readonly text: string;
    readonly chars?: number;
    readonly found: readonly string[];
  }[];
};

/** A message as the agent server sends it: its parts are read one by one, by `readPart`. */
export type ShownMessage = {
  readonly info: {
    readonly id: string;
    readonly role: string;
    readonly time?: { readonly created?: number; readonly completed?: number };
    readonly error?: unknown;
    readonly finish?: string;
    readonly cost?: number;
    readonly modelID?: string;
    readonly agent?: string;
    /** Whether it replaces earlier messages for the model. */
    readonly summary?: boolean;
  };
  readonly parts: readonly unknown[];
};

/** The answer of `GET /api/sessions/{agent}/{id}/messages`, the oldest first; `next` leads to those before them. */
export type MessagePage = { readonly messages: readonly ShownMessage[]; readonly next?: string };
