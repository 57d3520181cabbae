import { pause, untilAborted } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentEventStream, AgentModel } from '../agent/types.ts';
import type { Conversations, LockedConversation, Owner } from '../conversation/types.ts';
import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';
import { createListeners, type Listeners } from './disconnect.ts';
import { toAnswerFailure } from './failure.ts';
import { createIdempotencyStore, type RequestIdentity } from './idempotency.ts';
import { readOutput } from './log-reader.ts';
import {
  type AnswerRunnerNeeds,
  type AnswerStart,
  createAnswerRunner,
  type IdempotencyEntry,
  type RunningAnswer,
} from './running-answer.ts';

export type AnswersNeeds = AnswerRunnerNeeds & {
  readonly feed: AgentEventStream;
  readonly conversations: Conversations;
  readonly catalog: ModelCatalog;
  readonly log: Log;
};

/** An answer that is under way. */
export type ClientAnswer = {
  /** What the conversation is called. */
  readonly conversationName: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Known once the request's turn in the conversation has come. */
  readonly responseID: () => Promise<string>;
  /** To be read once, and to its end or until `return`: whoever stops early counts as having left. */
  readonly output: AsyncGenerator<OutputEvent>;
};

export type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly identity: RequestIdentity;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
};

/** What requests that are the same share. */
type Undertaking = { readonly audience: Listeners; readonly begun: Promise<Begun> };
type Begun = { readonly name: string; readonly model: AgentModel; readonly started: Promise<RunningAnswer> };

/** What goes wrong within this time is still told by a status. A stream that has to wait longer is opened meanwhile. */
const STATUS_WITHIN_MS = 400;

export type Answers = {
  /** Faults while the answer's fate is quickly known; later failures are told by the sayings. */
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
};

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const { feed, conversations, catalog, clock, log } = needs;
  const exchangeIn = createAnswerRunner(needs);
  const retries = createIdempotencyStore<Undertaking>(clock);

  const start = async (
    beginning: AnswerStart,
    hold: (signal: AbortSignal) => Promise<LockedConversation>,
  ): Promise<RunningAnswer> => {
    const { signal } = beginning;
    const held = await hold(signal);
    try {
      await feed.untilOpen(signal);
      return await exchangeIn(held, beginning);
    } catch (error) {
      held.release();
      throw error;
    }
  };
  const make = async (
    { request: asked, owner }: AnswerRequest,
    fate: IdempotencyEntry,
    signal: AbortSignal,
  ): Promise<Begun> => {
    const found = await catalog.find(asked.model);
    const model = asked.isBackgroundTask ? await catalog.findSmall(found) : found;
    const { name, lock: hold } = await conversations.resolve(asked, owner, signal);
    const started = start({ request: asked, model, idempotency: fate, signal }, hold);
    started.catch(fate.remove);
    return { name, model, started };
  };
  /** What the request leads to, or has led to already. Kept before anything is waited for: its like may come meanwhile. */
  const undertaking = (request: AnswerRequest): Undertaking => {
    const { owner, identity: mark } = request;
    const earlier = retries.find(owner, mark);
    if (earlier !== undefined) return earlier;
    const audience = createListeners();
    const fate: IdempotencyEntry = { remove: () => retries.remove(made), settle: (how) => retries.settle(made, how) };
    const made: Undertaking = { audience, begun: Promise.resolve().then(() => make(request, fate, audience.signal)) };
    retries.add(owner, mark, made);
    made.begun.catch(fate.remove);
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
        out = readers.add();
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
  async function* reading({ started }: Begun, signal: AbortSignal, leave: () => void): AsyncGenerator<OutputEvent> {
    try {
      const { log: turnLog, from, outcome: kept } = await untilAborted(started, signal);
      yield* readOutput(turnLog, { from, outcome: kept, signal });
    } catch (error) {
      if (!(error instanceof Fault) || error.detail.kind === 'client-left') throw error;
      yield { kind: 'failure', failure: toAnswerFailure(error.detail) };
    } finally {
      leave();
    }
  }
  /** Who joined a request whose sender then left before it was begun has to begin it. */
  const wasLeft = (error: unknown, { signal }: AnswerRequest): boolean =>
    error instanceof Fault && error.detail.kind === 'client-left' && !signal.aborted;
  return {
    async start(request) {
      const waiting = new AbortController();
      let leave = (): void => {};
      let made: Begun;
      try {
        const { audience, begun } = undertaking(request);
        audience.add(request.signal);
        made = await begun;
        leave = attend(made, request.signal);
        await Promise.race([made.started, pause(clock, STATUS_WITHIN_MS, waiting.signal)]);
      } catch (error) {
        leave();
        if (wasLeft(error, request)) return this.start(request);
        throw error;
      } finally {
        waiting.abort(new Fault({ kind: 'client-left' }));
      }
      log('debug', 'answer-begun', { model: modelNameOf(made.model) });
      return {
        conversationName: made.name,
        model: modelNameOf(made.model),
        responseID: async () => (await made.started).responseID,
        output: reading(made, request.signal, leave),
      };
    },
  };
};
