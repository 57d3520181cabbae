/** Who is logged in. Viewers read, approvers decide and chat, admins also change keys and delete. */
export type Visitor = { readonly name: string; readonly role: 'viewer' | 'approver' | 'admin' };

/** The parts of the console: set up, or a sentence that says which setting is missing. */
export type PartName = 'approvals' | 'moderation' | 'chat' | 'sessions' | 'recharges';

/** The answer of `GET /api/me`. */
export type Me = {
  readonly user: Visitor | null;
  readonly csrf: string;
  readonly parts: Readonly<Record<PartName, true | string>>;
  readonly version: string;
};

/** What a recharge would do: decimal strings; `expires` in milliseconds since the epoch. */
export type MoneyPreview = {
  readonly user: string;
  readonly amount: string;
  readonly before: string;
  readonly after: string;
  readonly currency?: string;
  readonly expires?: number;
};

/** An open permission request. Times are milliseconds since the epoch; `agent` is the number of its agent server. */
export type Approval = {
  readonly agent: number;
  readonly id: string;
  readonly sessionID: string;
  readonly title: string;
  readonly tool: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly arguments: unknown;
  readonly argumentsHash: string;
  readonly asked: number;
  readonly ends: number;
  readonly money?: MoneyPreview;
  /** What `always` would allow. Empty: it is not offered. */
  readonly always: readonly string[];
  readonly link?: { readonly announced: boolean };
};

/** What a person can answer. */
export type ApprovalReply = 'once' | 'always' | 'reject';

/** A request that has ended: who decided what, or that nobody did. */
export type ApprovalDecision = {
  readonly id: string;
  readonly sessionID?: string;
  readonly permission?: string;
  readonly tool?: string;
  readonly reply: ApprovalReply | 'expired' | 'cancelled';
  readonly by?: string;
  readonly message?: string;
  readonly at: number;
  readonly covers?: readonly string[];
};

/** One of the servers behind the console. */
export type ServiceState = {
  readonly part: string;
  readonly address?: string;
  readonly state: 'up' | 'down';
  readonly since: number;
  readonly reason?: string;
};

/** A verdict in the feed. It never holds a text. */
export type FeedVerdict = {
  readonly at: number;
  readonly alias: string;
  readonly flagged: readonly string[];
  readonly highest?: { readonly category: string; readonly score: number };
  readonly duration_ms: number;
  readonly hidden?: boolean;
  readonly cache?: boolean | string;
  readonly face?: string;
  readonly error?: string;
};

/** A recharge of the journal: decimal strings, milliseconds since the epoch. */
export type RechargeEntry = {
  readonly reference: string;
  readonly at: number;
  readonly user: string;
  readonly amount: string;
  readonly before: string;
  readonly after?: string;
  readonly currency?: string;
  /** Why it is in doubt or was refused. */
  readonly reason?: string;
  /** What a person checks about one in doubt. */
  readonly check?: readonly string[];
};

/** The answer of `GET /api/recharges`, each list with the newest first. */
export type RechargeLists = {
  readonly inDoubt: readonly RechargeEntry[];
  readonly refused: readonly RechargeEntry[];
  readonly verified: readonly RechargeEntry[];
};
