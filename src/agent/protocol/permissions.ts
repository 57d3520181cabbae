import type { Rule } from './types.ts';

/** Asks a person whether a tool call may be made. It is open until it is answered, its run ends or its time is over. */
export type PermissionRequest = {
  readonly id: string;
  readonly sessionID: string;
  /** The tool's name. */
  readonly permission: string;
  readonly patterns: readonly string[];
  /** What the person decides about: the tool's title and arguments, and for a recharge the text of its preview. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Patterns that the reply `always` allows from then on. */
  readonly always: readonly string[];
  readonly tool: { readonly messageID: string; readonly callID: string };
  /** The agent that wants to make the call. */
  readonly agent: string;
  /** Of the arguments in `metadata.input`, which the call is made with. */
  readonly argumentsHash: string;
  /** When it was asked, and when it ends without an answer, in milliseconds since the epoch. */
  readonly time: { readonly asked: number; readonly ends: number };
};

/** A person's reply to a permission request. */
export type PermissionReply =
  | { readonly reply: 'once' }
  | { readonly reply: 'always' }
  | { readonly reply: 'reject'; readonly message?: string };

/** How a permission request ended: with a reply, without one in time, or with its run or the rejection of another call. */
export type PermissionOutcome = PermissionReply | { readonly reply: 'expired' | 'cancelled' };

/** Who decided. */
type Decider = {
  /** The name that the client gave, or that it logged in with. None where no client decided. */
  readonly by?: string;
  /** The other request whose reply decided this one as well. */
  readonly through?: string;
};

/** An outcome, and who decided it. */
export type DecidedOutcome = PermissionOutcome & Decider;

/** What became of a permission request, as it is kept. It holds no arguments. */
export type PermissionDecision = Decider &
  Pick<PermissionRequest, 'id' | 'sessionID' | 'permission' | 'patterns' | 'tool' | 'agent' | 'argumentsHash'> & {
    readonly reply: PermissionOutcome['reply'];
    /** The person's words to the model. */
    readonly message?: string;
    /** The rules that hold from then on, in every session. */
    readonly covers?: readonly Rule[];
    /** When it was asked and when it was decided, in milliseconds since the epoch. */
    readonly asked: number;
    readonly at: number;
  };

/** The decision about a request, as it is kept. */
export const decisionAbout = (
  { id, sessionID, permission, patterns, always, tool, agent, argumentsHash, time }: PermissionRequest,
  outcome: DecidedOutcome,
  at: number,
): PermissionDecision => ({
  id,
  sessionID,
  permission,
  patterns,
  tool,
  agent,
  argumentsHash,
  ...outcome,
  ...(outcome.reply === 'always' && outcome.through === undefined
    ? { covers: always.map((pattern): Rule => ({ permission, pattern, action: 'allow' })) }
    : {}),
  asked: time.asked,
  at,
});

/** What the waiting call receives of a decision. */
export const outcomeOf = ({ reply, message }: PermissionDecision): PermissionOutcome =>
  reply === 'reject' && message !== undefined ? { reply, message } : { reply };
