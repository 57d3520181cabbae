import type { Ticket } from '../../core/keyed-queue.ts';
import type { Agent } from '../agent/types.ts';
import type { Asked, Said } from '../request.ts';
import { type Digest, NOTHING_SAID } from './fingerprint.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { afterExchange, type Footing, type History } from './match.ts';
import { type Kept, metadataOf, promptIDsOf } from './record.ts';
import type { ConversationKeeper } from './sync.ts';
import { sessionTitleFor } from './transcript.ts';
import type { Exchanged, Held, Owner } from './types.ts';

/** A conversation to go on with, and what its client takes to be said in it. */
export type GoingOn = { readonly kept: Kept; readonly footing: Footing };

/** Where a request belongs, before its turn has come. */
export type Plan = {
  readonly owner: Owner;
  readonly name: string;
  readonly isNamed: boolean;
  /** A session that is not kept is deleted when it is given back, and nobody can find it. */
  readonly isKept: boolean;
  readonly prompt: Asked['prompt'];
  /** Asked when the request's turn has come; nothing stands for a new session. */
  readonly find: () => GoingOn | undefined;
  /** What a session has to be told that has heard nothing. */
  readonly replay: History;
};

export type HoldingNeeds = {
  readonly agent: Agent;
  readonly index: ConversationIndex;
  readonly keeper: ConversationKeeper;
  readonly stopped: StoppedAnswers;
  readonly digest: Digest;
};

type Session = GoingOn & { readonly replay: readonly Said[]; readonly isNew: boolean };

/** Waits for a request's turn, and holds its conversation from then until it is given back. */
export type Holding = (plan: Plan, ticket: Ticket, signal: AbortSignal) => Promise<Held>;

const unborn = ({ owner, name, isNamed }: Plan): Kept => ({
  sessionID: '',
  owner,
  name,
  isNamed,
  said: NOTHING_SAID,
  tail: [],
  stoppedAt: undefined,
  hasReplay: false,
  exchanges: [],
  foreign: {},
  createdAt: 0,
  usedAt: 0,
  isSure: true,
});

/** Whether the agent has been told anything of it. An answer in our own words is none of the agent's. */
const hasBegun = (kept: Kept): boolean => promptIDsOf(kept).size > 0;

export const createHolding = ({ agent, index, keeper, stopped, digest }: HoldingNeeds): Holding => {
  const begin = async (plan: Plan, signal: AbortSignal): Promise<Session> => {
    const metadata = plan.isKept ? metadataOf(unborn(plan)) : {};
    const { id, time } = await agent.createSession({ title: sessionTitleFor(plan.prompt), metadata }, signal);
    const kept = { ...unborn(plan), sessionID: id, createdAt: time.created };
    const { footing, said: replay } = plan.replay;
    return { kept, footing, replay, isNew: true };
  };
  const known = async (plan: Plan, signal: AbortSignal): Promise<Session | undefined> => {
    const found = await keeper.sure(plan.find, signal);
    return found && { ...found, replay: hasBegun(found.kept) ? [] : plan.replay.said, isNew: false };
  };
  const noted = ({ kept: before, footing, replay }: Session, exchanged: Exchanged): Session => {
    // A response may have been forgotten meanwhile.
    const kept = index.bySession(before.sessionID) ?? before;
    const isReplayed = replay.length > 0 && exchanged.promptID !== undefined;
    const next = afterExchange({ ...kept, hasReplay: kept.hasReplay || isReplayed }, exchanged, { footing, digest });
    return { kept: next, footing, replay, isNew: false };
  };

  const take = (plan: Plan, ticket: Ticket, first: Session): Held => {
    let session = first;
    let isNoted = false;
    let isReleased = false;

    const note = async (exchanged: Exchanged): Promise<void> => {
      if (!plan.isKept) return;
      session = noted(session, exchanged);
      isNoted = true;
      stopped.set(session.kept.sessionID, exchanged.isStopped ? exchanged.told : undefined);
      index.put(session.kept);
      // Whoever has heard the answer may wait in line for the short time that is left.
      ticket.announceRelease();
      await keeper.write(session.kept).catch(() => {});
    };
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      const { sessionID } = session.kept;
      const kept = index.bySession(sessionID);
      if (session.isNew) keeper.discard(sessionID);
      // The agent may have taken a prompt of which nothing was told.
      else if (!isNoted && kept !== undefined) index.put({ ...kept, isSure: false });
      ticket.release();
    };
    const held = (): Held => ({
      conversation: { sessionID: session.kept.sessionID, earlier: promptIDsOf(session.kept) },
      replay: session.replay,
      note,
      release,
      async renew(signal) {
        index.remove(session.kept.sessionID);
        session = await begin(plan, signal);
        return held();
      },
    });
    return held();
  };

  return async (plan, ticket, signal) => {
    await ticket.waitForTurn(signal);
    try {
      return take(plan, ticket, (await known(plan, signal)) ?? (await begin(plan, signal)));
    } catch (error) {
      ticket.release();
      throw error;
    }
  };
};
