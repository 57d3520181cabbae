import { pause, untilAborted } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { type Catalog, nameOf } from '../agent/models.ts';
import type { AgentModel, Feed } from '../agent/types.ts';
import type { Conversations, Held, Owner } from '../conversation/types.ts';
import type { Saying } from '../output.ts';
import type { Asked } from '../request.ts';
import { type Audience, createAudience } from './disconnect.ts';
import { type Beginning, createExchanges, type Exchange, type ExchangesNeeds, type Fate } from './exchange.ts';
import { failureOf } from './failure.ts';
import { createRetries, type RetryMark } from './idempotency.ts';
import { viewOf } from './reader.ts';

export type AnswersNeeds = ExchangesNeeds & {
  readonly feed: Feed;
  readonly conversations: Conversations;
  readonly catalog: Catalog;
  readonly log: Log;
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

/** What requests that are the same share. */
type Undertaking = { readonly audience: Audience; readonly begun: Promise<Begun> };
type Begun = { readonly name: string; readonly model: AgentModel; readonly started: Promise<Exchange> };

/** What goes wrong within this time is still told by a status. A stream that has to wait longer is opened meanwhile. */
const STATUS_WITHIN_MS = 400;

export type Answers = {
  /** Faults while the answer's fate is quickly known; later failures are told by the sayings. */
  readonly begin: (request: Request) => Promise<Answer>;
};

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const { feed, conversations, catalog, clock, log } = needs;
  const exchangeIn = createExchanges(needs);
  const retries = createRetries<Undertaking>(clock);

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
        // Counted out only once everyone who waited beside it has been counted in.
        if (hasLeft) void Promise.resolve().then(out);
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
