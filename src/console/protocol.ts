/** What a person may do: a viewer reads, an approver also decides and chats, an admin also rests keys, aborts and deletes. */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A service that the console stands before. */
export type ServicePart = 'gateway' | 'agent' | 'bridge';

/** The parts of the page that need a service, in the order in which it shows them. */
export const PARTS = ['approvals', 'moderation', 'chat', 'sessions', 'recharges'] as const;
export type PartName = (typeof PARTS)[number];
/** Whether each part is set up, or a sentence that says which setting it needs. */
export type Parts = Readonly<Record<PartName, true | string>>;

/** The answer of `GET /api/me`. With the login `none` everybody on this machine is the admin. */
export type Me = {
  readonly user: { readonly name: string; readonly role: Role } | null;
  readonly csrf: string;
  readonly login: 'password' | 'proxy' | 'none';
  readonly parts: Parts;
  readonly version: string;
};

/** What a recharge would do, as the tool server's own preview says. Figures are its texts: `12.5`. */
export type Money = {
  readonly summary: string;
  readonly warnings: readonly string[];
  /** False where the agent server knows no preview of the call's token: then there are no figures. */
  readonly isKnown: boolean;
  readonly user?: string;
  readonly amount?: string;
  readonly before?: string;
  readonly after?: string;
  /** In milliseconds since the epoch. */
  readonly expires?: number;
  /** Where the figures come from, as a sentence. */
  readonly source: string;
};

/** An open permission request, as the page shows it. Times are in milliseconds since the epoch. */
export type Approval = {
  /** The position of the agent server in CONSOLE_AGENT_URLS. */
  readonly agent: number;
  readonly id: string;
  readonly sessionID: string;
  readonly title: string;
  /** The session that this one works for. */
  readonly parentID?: string;
  /** That one's title, which is of the user's own words. */
  readonly parentTitle?: string;
  readonly tool: string;
  /** The name of the agent that wants to make the call. */
  readonly by?: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly arguments: unknown;
  readonly argumentsHash: string;
  readonly asked?: number;
  readonly ends?: number;
  readonly call?: CallPlace;
  readonly money?: Money;
  /** What `always` would allow, as sentences. None where each call needs a decision of its own. */
  readonly always: readonly string[];
  /** Whether its link was sent to the webhook. */
  readonly link?: { readonly announced: boolean };
};

/** Where a call stands in its session. */
export type CallPlace = { readonly messageID: string; readonly callID: string };

/** What became of a call that was allowed: `in-doubt` where its tool says that it is not known whether it took effect. */
export type CallOutcome = {
  readonly state: 'pending' | 'done' | 'failed' | 'in-doubt' | 'unknown';
  readonly text?: string;
};

/** All open requests, the oldest first. What waits at agent servers that are `away`, which do not answer, is not known. */
export type ApprovalList = {
  readonly open: readonly Approval[];
  readonly away: readonly number[];
  readonly standing: readonly ShownRule[];
};

/** What one answer `always` allows at the moment, and how many calls ran under it. Times are in milliseconds since the epoch. */
export type ShownRule = {
  readonly agent: number;
  readonly id: string;
  readonly sessionID: string;
  /** As sentences. */
  readonly covers: readonly string[];
  readonly by?: string;
  readonly since: number;
  readonly until: number;
  readonly uses: number;
};

/** What a person can answer to a permission request. */
export const ANSWERS = ['once', 'always', 'reject'] as const;
export type AnswerWord = (typeof ANSWERS)[number];
/** The longest reason, as the agent server takes it. */
export const ANSWER_REASON_CHARS = 4000;

/** What became of a permission request. */
export type Decision = {
  readonly agent: number;
  readonly id: string;
  readonly sessionID: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly argumentsHash?: string;
  readonly call?: CallPlace;
  readonly reply: AnswerWord | 'expired' | 'cancelled';
  readonly by?: string;
  readonly message?: string;
  readonly at: number;
  /** The other request whose answer `always` decided this call as well. */
  readonly through?: string;
  /** The rules that `always` has made, as sentences. */
  readonly covers?: readonly string[];
};

/** A person's answer to a permission request. */
export type ApprovalAnswer = {
  readonly reply: AnswerWord;
  readonly message?: string;
  readonly argumentsHash: string;
};

/** What was decided lately, the newest first; `unread`: the agent servers that did not say what they have kept. */
export type RecentDecisions = { readonly decided: readonly Decision[]; readonly unread: readonly number[] };

/**
 * Whether a service answers: `not-ready` where it does, and is of no use now, or refuses the console's key. `since` in milliseconds
 * since the epoch.
 */
export type ServiceState = {
  readonly part: ServicePart;
  readonly address: string;
  readonly state: 'up' | 'not-ready' | 'down';
  readonly since: number;
  readonly reason?: string;
};

/** A recharge as the page shows it. Amounts are decimal texts, times milliseconds since the epoch. */
export type RechargeRow = {
  readonly reference: string;
  readonly at: number;
  readonly user: string;
  readonly amount: string;
  readonly before: string;
  readonly after?: string;
  /** Why it is in doubt, or was refused. */
  readonly reason?: string;
  /** What a person checks about one in doubt, in this order. */
  readonly check?: readonly string[];
  /** When its outcome was written. */
  readonly settled?: number;
};

/** The recharges of a journal, each list with the newest first. */
export type JournalLists = {
  readonly inDoubt: readonly RechargeRow[];
  readonly refused: readonly RechargeRow[];
  readonly verified: readonly RechargeRow[];
  /** How many older ones are left out. */
  readonly leftOut: number;
  /** The name of the journal's file, where it is not there yet. */
  readonly missingFile?: string;
};

/** A session as the page lists it. Times are in milliseconds since the epoch. */
export type ListedConversation = {
  readonly agent: number;
  readonly id: string;
  readonly title: string;
  readonly created: number;
  readonly updated: number;
  readonly cost: number;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly status: 'idle' | 'busy';
  readonly parent?: string;
  readonly agentName?: string;
  readonly model?: string;
};

/** A page of sessions. Those of agent servers that are `unread` are missing. */
export type SessionPage = {
  readonly sessions: readonly ListedConversation[];
  readonly unread: readonly number[];
  readonly next?: string;
};

/** A session, and the visitor's own conversation that is in it. */
export type SessionDetail = ListedConversation & { readonly conversation?: string };

/** A visitor's own conversation, whose session is there once it was begun. */
export type OwnConversation = { readonly isAnswering: boolean; readonly session?: ListedConversation };

/** A tool server, with its last error and when that was, in milliseconds since the epoch. */
export type ToolServerRow = {
  readonly agent: number;
  readonly name: string;
  readonly state: string;
  readonly error?: string;
  readonly errorAt?: number;
};

/** The tool servers of all agent servers but those that are `unread`. */
export type ToolServerList = { readonly servers: readonly ToolServerRow[]; readonly unread: readonly number[] };

/** The configurations of all agent servers but those that are `unread`, by their addresses. */
export type Configurations = {
  readonly agents: readonly { readonly agent: string; readonly config: unknown }[];
  readonly unread: readonly number[];
};
