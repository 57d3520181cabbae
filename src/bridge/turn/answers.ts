import { pause, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentClient, AgentEventStream, AgentModel } from '../agent/types.ts';
import type { Conversations, Owner, ResolvedConversation } from '../conversation/types.ts';
import { toAnswerFailure } from '../errors.ts';
import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';
import { createListeners, type Listeners } from './disconnect.ts';
import { createIdempotencyStore, type RequestIdentity } from './idempotency.ts';
import { readOutput } from './log-reader.ts';
import type { SessionFamilies } from './permission-requests.ts';
import {
  type AnswerSettings,
  type AnswerStart,
  createAnswerRunner,
  type IdempotencyEntry,
  type RunningAnswer,
} from './running-answer.ts';

type AnswersNeeds = {
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  readonly sessionFamilies: SessionFamilies;
  readonly conversations: Conversations;
  readonly catalog: ModelCatalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: AnswerSettings;
};

/** An answer as one client reads it. */
export type ClientAnswer = {
  readonly conversationName: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Resolves once the request's turn in the conversation has come. */
  readonly responseID: () => Promise<string>;
  /** Read it once, to its end or until `return`. A reader that stops early counts as disconnected. */
  readonly output: AsyncGenerator<OutputEvent>;
};

type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly identity: RequestIdentity;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

export type Answers = {
  /** Faults if the answer fails within a short time. Later failures are output events. */
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
};

/** What equal requests share. */
type SharedAnswer = { readonly listeners: Listeners; readonly resolved: Promise<ResolvedAnswer> };
type ResolvedAnswer = {
  readonly conversationName: string;
  readonly model: AgentModel;
  readonly running: Promise<RunningAnswer>;
};

/** A failure within this time is answered with an HTTP status. After it, the stream is opened in any case. */
const STATUS_WITHIN_MS = 400;

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const { agent, feed, sessionFamilies, conversations, catalog, clock, log, settings } = needs;
  const turn = { agent, feed, sessionFamilies, clock, log };
  const runAnswer = createAnswerRunner({ turn, conversations, settings });
  const store = createIdempotencyStore<SharedAnswer>(clock);

  const run = async (lock: ResolvedConversation['lock'], start: AnswerStart): Promise<RunningAnswer> => {
    const locked = await lock(start.signal);
    try {
      await feed.untilOpen(start.signal);
      return await runAnswer(locked, start);
    } catch (error) {
      locked.release();
      throw error;
    }
  };
  const resolve = async (
    { request, owner }: AnswerRequest,
    idempotency: IdempotencyEntry,
    signal: AbortSignal,
  ): Promise<ResolvedAnswer> => {
    const found = await catalog.find(request.model);
    const model = request.isBackgroundTask ? await catalog.findSmall(found) : found;
    const { name, lock } = await conversations.resolve(request, owner, signal);
    const running = run(lock, { request, model, idempotency, signal });
    running.catch(idempotency.remove);
    return { conversationName: name, model, running };
  };
  /** The answer that the request shares with earlier ones. Stored before anything is waited for, as more may come. */
  const findOrCreate = (request: AnswerRequest): SharedAnswer => {
    const { owner, identity } = request;
    const earlier = store.find(owner, identity);
    if (earlier !== undefined) return earlier;
    const listeners = createListeners();
    const idempotency: IdempotencyEntry = {
      remove: () => store.remove(shared),
      settle: (result) => store.settle(shared, result),
    };
    const resolved = Promise.resolve().then(() => resolve(request, idempotency, listeners.signal));
    const shared: SharedAnswer = { listeners, resolved };
    store.add(owner, identity, shared);
    resolved.catch(idempotency.remove);
    return shared;
  };
  /** Counts a client as a reader as soon as the answer runs, because it may disconnect before it has read anything. */
  const addReader = ({ running }: ResolvedAnswer, signal: AbortSignal): (() => void) => {
    let hasLeft = false;
    let removeReader = (): void => {};
    const leave = (): void => {
      hasLeft = true;
      removeReader();
    };
    signal.addEventListener('abort', leave, { once: true });
    running.then(
      ({ readers }) => {
        removeReader = readers.add();
        // Not before all who waited for the same answer were added.
        if (hasLeft) void Promise.resolve().then(removeReader);
      },
      () => {},
    );
    return () => {
      signal.removeEventListener('abort', leave);
      leave();
    };
  };
  async function* readAnswer(
    { running }: ResolvedAnswer,
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<OutputEvent> {
    try {
      const { log: turnLog, from, outcome } = await untilAborted(running, signal);
      yield* readOutput(turnLog, { from, outcome, signal });
    } catch (error) {
      if (!(error instanceof Fault) || error.detail.kind === 'client-left') throw error;
      yield { kind: 'failure', failure: toAnswerFailure(error.detail) };
    } finally {
      leave();
    }
  }
  /** Whether a shared answer ended before it ran because all others disconnected. Then this request has to start it again. */
  const isAbortedByOthers = (error: unknown, { signal }: AnswerRequest): boolean =>
    error instanceof Fault && error.detail.kind === 'client-left' && !signal.aborted;
  return {
    async start(request) {
      const waiting = new AbortController();
      let leave = (): void => {};
      let answer: ResolvedAnswer;
      try {
        const { listeners, resolved } = findOrCreate(request);
        listeners.add(request.signal);
        answer = await resolved;
        leave = addReader(answer, request.signal);
        await Promise.race([answer.running, pause(clock, STATUS_WITHIN_MS, waiting.signal)]);
      } catch (error) {
        leave();
        if (isAbortedByOthers(error, request)) return this.start(request);
        throw error;
      } finally {
        waiting.abort(new Fault({ kind: 'client-left' }));
      }
      const { conversationName, running } = answer;
      const model = modelNameOf(answer.model);
      log('debug', 'answer-begun', { model });
      return {
        conversationName,
        model,
        responseID: async () => (await running).responseID,
        output: readAnswer(answer, request.signal, leave),
      };
    },
  };
};
