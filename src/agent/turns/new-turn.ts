import type { Span } from '../../core/http/tracing.ts';
import type { Turn } from '../protocol/turns.ts';
import type { AcceptPrompt } from '../session/prompt.ts';
import type { SessionParts } from '../session/sessions.ts';
import type { StoreChange } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { createClientResults } from '../tools/client-results.ts';
import type { Located } from './locate.ts';
import { readFacts, type TurnFacts } from './output/view.ts';
import { changeTurn, withReader } from './records.ts';
import type { AskedTurn } from './request.ts';

/** What turns work with. */
export type TurnNeeds = SessionParts & {
  readonly approvals: Approvals;
  readonly acceptPrompt: AcceptPrompt;
  readonly takeClientResults: ReturnType<typeof createClientResults>;
};

/** Who asks, and from where. */
export type AskedFrom = {
  readonly span: Span | undefined;
  readonly directory: string;
  readonly by: string;
  readonly signal: AbortSignal;
};

/** A turn that was begun, or that an earlier request has begun. */
export type Begun = {
  readonly outcome: 'begun' | 'joined';
  readonly reader: string;
  readonly facts: TurnFacts;
  /** Nothing of it can have happened before `start` is called. */
  readonly isFresh: boolean;
  /** To be called once, when somebody follows it. */
  readonly start: () => void;
};

/** What an attempt to begin has decided so far. */
export type BeginAttempt = AskedFrom & { readonly reader: string; readonly released: Turn | undefined };

/** What is known of a turn that begins, besides its request. */
type NewTurn = Pick<Turn, 'id' | 'sessionID' | 'promptID' | 'from' | 'messageIDs' | 'createdMs'> & {
  readonly conversationID: string;
  readonly chain: string | undefined;
  readonly reader: string;
};

/** What is not stored is removed so long after its last reader has left, or its request has come. */
export const UNREAD_LIFE_MS = 600_000;

/** The record of a turn that begins. */
export const createTurn = ({ owner, body, results }: AskedTurn, { chain, reader, ...given }: NewTurn): Turn => ({
  ...given,
  owner,
  callIDs: [...new Set(results.map(({ callID }) => callID))],
  ...(body.key === undefined ? {} : { key: body.key }),
  ...(body.digest === undefined ? {} : { digest: body.digest }),
  abortAfterMs: body.abortAfterMs,
  isStored: body.isStored,
  // No history leads to what is removed in a moment.
  ...(chain === undefined || !body.isStored ? {} : { chain }),
  metadata: body.metadata,
  readers: [reader],
  joins: 0,
  ...(body.isStored ? {} : { dueMs: given.createdMs + UNREAD_LIFE_MS }),
});

const withoutKey = ({ key: _, ...turn }: Turn): Turn => turn;

/** Turns that a new one changes: one that gives its key up, and one that it continues. */
export type Touched = { readonly released: Turn | undefined; readonly continued?: Turn | undefined };

/** What is stored with the beginning of a turn, in the commit of its prompt or of its results. */
export const turnChanges = (
  turn: Turn,
  { conversation, before }: Pick<Located, 'conversation' | 'before'>,
  { released, continued }: Touched,
): readonly StoreChange[] => {
  const moved = { ...conversation, sessionID: turn.sessionID, lastTurnID: turn.id };
  const changed: StoreChange[] = [];
  if (released !== undefined) changed.push({ kind: 'turn', turn: withoutKey(released), before: released });
  if (continued !== undefined && continued.id !== released?.id) {
    const ended = { ...continued, until: turn.from, continuedBy: turn.id };
    changed.push({ kind: 'turn', turn: ended, before: continued });
  }
  return [...changed, { kind: 'conversation', conversation: moved, before }, { kind: 'turn', turn, before: undefined }];
};

/** A request becomes one more reader of a turn. `isFirstOnly`: only if no other one has joined since the turn was found. */
export const joinTurn = async (
  needs: TurnNeeds,
  found: Turn,
  reader: string,
  { isFirstOnly = false }: { readonly isFirstOnly?: boolean | undefined } = {},
): Promise<Begun> => {
  const { store } = needs;
  const join = (now: Turn): Turn => ({ ...withReader(now, reader), joins: now.joins + 1 });
  const turn = isFirstOnly ? join(found) : await changeTurn(store, found, join);
  if (isFirstOnly) await store.commit([{ kind: 'turn', turn, before: found }], []);
  const facts = await readFacts(needs, turn);
  return { outcome: 'joined', reader, facts, isFresh: false, start: () => {} };
};
