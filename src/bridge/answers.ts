import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { Log } from '../core/log.ts';
import { pause, untilAborted } from '../core/wait.ts';
import type { Agent, AgentModel, Feed } from './agent.ts';
import { type Asked, filesOf, wordsOf } from './asked.ts';
import { type Audience, createAudience } from './audience.ts';
import { type Catalog, nameOf } from './catalog.ts';
import type { Conversations, Held, Owner } from './conversation.ts';
import { createReaders, type DeparturePolicy, type Readers } from './departure.ts';
import { withoutEcho } from './echo-filter.ts';
import { AT_THE_START, type Bookmark, type Outcome, orElse, outcomeOf, toldIn } from './exchange.ts';
import type { Families } from './families.ts';
import { createPausedTurns, type Going } from './paused-turns.ts';
import { promptFor } from './replay.ts';
import { createRetries, type RetryMark } from './retries.ts';
import type { Saying } from './saying.ts';
import { failureOf } from './start-failure.ts';
import { startTurn, type Turn, type TurnNeeds } from './turn.ts';
import type { TurnLog } from './turn-log.ts';
import { viewOf } from './view.ts';

export type AnswersNeeds = {
  readonly agent: Agent;
  readonly feed: Feed;
  readonly families: Families;
  readonly conversations: Conversations;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
  /** Which of the agent's agents answers; its own choice if none. */
  readonly agentName: string | undefined;
  /** Whether the agent's questions are put to the user. */
  readonly asksInChat: boolean;
  readonly onDeparture: DeparturePolicy;
  /** Whether clients are not told what an answer repeats of its prompt before it begins. */
  readonly dropsLeadingEcho: boolean;
};

/** An answer that is under way. */
export type Answer = {
  /** What the conversation is called. */
  readonly name: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Known once the request's turn in the conversation has come. */
  readonly responseID: () => Promise<string>;
  /** To be read once, and to its end or until `return`: whoever stops early counts as having left. */
  readonly sayings: AsyncGenerator<Saying>;
};

export type Request = {
  readonly asked: Asked;
  readonly owner: Owner;
  readonly mark: RetryMark;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
};

/** What requests have led to: one turn's part, for everybody who asked for it. */
type Exchange = {
  readonly log: TurnLog;
  readonly from: Bookmark;
  readonly responseID: string;
  /** How it ended, once the conversation has been noted. */
  readonly kept: Promise<Outcome>;
  readonly readers: Readers;
};
/** What is held, which another takes the place of when the agent has lost its session. */
type Holding = { held: Held };
/** What becomes of the memory of a request, for those who send the same again. */
type Fate = { readonly forget: () => void; readonly settled: (how: 'answered' | 'failed') => void };
type Beginning = {
  readonly asked: Asked;
  readonly model: AgentModel;
  readonly fate: Fate;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
};
/** What requests that are the same share. */
type Undertaking = { readonly audience: Audience; readonly begun: Promise<Begun> };
type Begun = { readonly name: string; readonly model: AgentModel; readonly started: Promise<Exchange> };

/** What goes wrong within this time is still told by a status. A stream that has to wait longer is opened meanwhile. */
const STATUS_WITHIN_MS = 400;
const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';

/** Whether nobody can come back to the session, so that no question asked in it could be answered. */
const isThrownAway = ({ isTask, isKept, place }: Asked): boolean => isTask || (!isKept && place.kind === 'unnamed');

export type Answers = {
  /** Faults while the answer's fate is quickly known; later failures are told by the sayings. */
  readonly begin: (request: Request) => Promise<Answer>;
};

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const { agent, feed, conversations, catalog, clock, log } = needs;
  const turnNeeds: TurnNeeds = { ...needs, rejectsAsksWith: needs.asksInChat ? undefined : REJECTION };
  const paused = createPausedTurns(agent, turnNeeds);
  const retries = createRetries<Undertaking>(clock);
  const never = new AbortController().signal;

  /** Keeps the conversation's record in step with the turn, whoever reads. */
  const keep = async (holding: Holding, going: Going, asked: Asked, responseID: string): Promise<Outcome> => {
    const { turn, log: turnLog, from, ifSilent } = going;
    try {
      const settled = await outcomeOf(turnLog, from, { clock, signal: never });
      const outcome = orElse(turnLog, from, settled, ifSilent);
      const hasRun = turn?.refusal() === undefined;
      if (hasRun) {
        const words = wordsOf(asked.prompt);
        const told = toldIn(turnLog, from, outcome);
        await holding.held.note({
          asked: words,
          files: filesOf(asked.prompt),
          // As the client heard it, or its history would be taken for another one.
          told: needs.dropsLeadingEcho ? withoutEcho(told, words) : told,
          responseID,
          promptID: turn?.promptID(),
          isStopped: turn?.isAborted() === true,
        });
      }
      if (turn !== undefined && turnLog.end() === undefined) paused.keep(turn, outcome);
      return outcome;
    } finally {
      holding.held.release();
    }
  };
  const newTurn = (holding: Holding, asked: Asked, model: AgentModel): Going => {
    const { sessionID, earlier } = holding.held.conversation;
    const promptNow = () => promptFor(asked, holding.held.replay, { model, agent: needs.agentName });
    const renew = async (signal: AbortSignal) => {
      holding.held = await holding.held.renew(signal);
      return { sessionID: holding.held.conversation.sessionID, prompt: promptNow() };
    };
    const needsNow = isThrownAway(asked) ? { ...turnNeeds, rejectsAsksWith: REJECTION } : turnNeeds;
    const turn = startTurn(sessionID, { kind: 'prompt', prompt: promptNow(), earlier, renew }, needsNow);
    return { turn, log: turn.log, from: AT_THE_START };
  };
  const readersOf = (ofTurn: Turn | undefined, kept: Promise<Outcome>, fate: Fate): Readers => {
    // Let go at the end: what is remembered for retries must not hold what the turn was asked.
    let turn = ofTurn;
    let isOver = false;
    kept
      .then(({ last }) => {
        // What was never begun may be tried again; what failed in the middle may not, by mistake.
        if (turn?.refusal() !== undefined) fate.forget();
        else fate.settled(last.kind === 'failure' ? 'failed' : 'answered');
      }, fate.forget)
      .finally(() => {
        isOver = true;
        turn = undefined;
      });
    return createReaders(clock, needs.onDeparture, {
      isOver: () => isOver,
      end() {
        // Whoever comes back must not be given what its own leaving has cut off.
        fate.forget();
        void turn?.abort();
      },
    });
  };
  const exchangeIn = async (held: Held, { asked, model, fate, signal }: Beginning): Promise<Exchange> => {
    const { conversation } = held;
    const holding: Holding = { held };
    const on = asked.isTask ? undefined : await paused.goOn(conversation, asked, signal);
    const going = on ?? newTurn(holding, asked, model);
    const responseID = conversations.newResponseID(conversation);
    const kept = keep(holding, going, asked, responseID);
    const readers = readersOf(going.turn, kept, fate);
    return { log: going.log, from: going.from, responseID, kept, readers };
  };
  const start = async (beginning: Beginning, hold: (signal: AbortSignal) => Promise<Held>): Promise<Exchange> => {
    const { signal } = beginning;
    const held = await hold(signal);
    try {
      await feed.opened(signal);
      return await exchangeIn(held, beginning);
    } catch (error) {
      held.release();
      throw error;
    }
  };
  const make = async ({ asked, owner }: Request, fate: Fate, signal: AbortSignal): Promise<Begun> => {
    const found = await catalog.find(asked.model);
    const model = asked.isTask ? await catalog.small(found) : found;
    const { name, hold } = await conversations.place(asked, owner, signal);
    const started = start({ asked, model, fate, signal }, hold);
    started.catch(fate.forget);
    return { name, model, started };
  };
  /** What the request leads to, or has led to already. Kept before anything is waited for: its like may come meanwhile. */
  const undertaking = (request: Request): Undertaking => {
    const { owner, mark } = request;
    const earlier = retries.earlier(owner, mark);
    if (earlier !== undefined) return earlier;
    const audience = createAudience();
    const fate: Fate = { forget: () => retries.drop(made), settled: (how) => retries.settle(made, how) };
    const made: Undertaking = { audience, begun: Promise.resolve().then(() => make(request, fate, audience.signal)) };
    retries.keep(owner, mark, made);
    made.begun.catch(fate.forget);
    return made;
  };
  /** Counts a reader in as soon as there is something to read, for it may leave before it has read anything. */
  const attend = ({ started }: Begun, signal: AbortSignal): (() => void) => {
    let hasLeft = false;
    let out = (): void => {};
    const leave = (): void => {
      hasLeft = true;
      out();
    };
    signal.addEventListener('abort', leave, { once: true });
    started.then(
      ({ readers }) => {
        out = readers.enter();
        if (hasLeft) out();
      },
      () => {},
    );
    return () => {
      signal.removeEventListener('abort', leave);
      leave();
    };
  };
  async function* reading({ started }: Begun, signal: AbortSignal, leave: () => void): AsyncGenerator<Saying> {
    try {
      const { log: turnLog, from, kept } = await untilAborted(started, signal);
      yield* viewOf(turnLog, { from, outcome: kept, signal });
    } catch (error) {
      if (!(error instanceof Fault) || error.detail.kind === 'client-left') throw error;
      yield { kind: 'failure', failure: failureOf(error.detail) };
    } finally {
      leave();
    }
  }
  /** Who joined a request whose sender then left before it was begun has to begin it. */
  const wasLeft = (error: unknown, { signal }: Request): boolean =>
    error instanceof Fault && error.detail.kind === 'client-left' && !signal.aborted;
  return {
    async begin(request) {
      const waiting = new AbortController();
      let leave = (): void => {};
      let made: Begun;
      try {
        const { audience, begun } = undertaking(request);
        audience.join(request.signal);
        made = await begun;
        leave = attend(made, request.signal);
        await Promise.race([made.started, pause(clock, STATUS_WITHIN_MS, waiting.signal)]);
      } catch (error) {
        leave();
        if (wasLeft(error, request)) return this.begin(request);
        throw error;
      } finally {
        waiting.abort(new Fault({ kind: 'client-left' }));
      }
      log('debug', 'answer-begun', { model: nameOf(made.model) });
      return {
        name: made.name,
        model: nameOf(made.model),
        responseID: async () => (await made.started).responseID,
        sayings: reading(made, request.signal, leave),
      };
    },
  };
};
