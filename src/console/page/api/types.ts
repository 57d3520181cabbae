import type { Decision, Role } from '../../protocol.ts';

/** Who is logged in. */
export type Visitor = { readonly name: string; readonly role: Role };

/** The parts of the console: set up, or a sentence that says which setting is missing. */
export type PartName = 'approvals' | 'moderation' | 'chat' | 'sessions' | 'recharges';

/** The answer of `GET /api/me`. */
export type Me = {
  readonly user: Visitor | null;
  readonly csrf: string;
  /** How visitors prove who they are: with `none` everybody on this machine is the admin. */
  readonly login?: 'password' | 'proxy' | 'none';
  readonly parts: Readonly<Record<PartName, true | string>>;
  readonly version: string;
};

/** What a person can answer. */
export type ApprovalReply = Decision['reply'] & ('once' | 'always' | 'reject');

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
