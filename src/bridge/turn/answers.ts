import { pause, untilAborted } from '../../core/async.ts';
import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import { shareTurnReads } from '../agent/shared-reads.ts';
import type { AgentClient, AgentEventStream, AgentModel } from '../agent/types.ts';
import { nextOf } from '../conversation/started/left.ts';
import type {
  Conversations,
  MarkedRequest,
  Owner,
  RequestMark,
  ResolvedConversation,
  StartedTurn,
} from '../conversation/types.ts';
import { type BridgeRequest, continuesAfter, isOneOff } from '../request.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import { ANSWER_NOT_KEPT, abortedFailure, toFault } from './failure.ts';
import { readRunning } from './log-reader.ts';
import type { SessionFamilies, SharedPermissionRequests } from './permission-requests.ts';
import { type AnswerSettings, type AnswerStart, createAnswerRunner, type RunningAnswer } from './running-answer.ts';
import type { RequestIdentity } from './sharing/kept-answers.ts';
import { type AnswerHandle, createSharedAnswers, leftAnswerTimes } from './sharing/shared-answers.ts';

type AnswersNeeds = {
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  readonly sessionFamilies: SessionFamilies;
  readonly sharedRequests: Pick<SharedPermissionRequests, 'readAfterLoss'>;
  readonly conversations: Conversations;
  readonly catalog: ModelCatalog;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before a call to the agent is repeated. */
  readonly chance: () => number;
  readonly log: Log;
  readonly newToken: () => string;
  readonly digest: (text: string) => string;
  readonly runInSlices: RunInSlices;
  readonly settings: AnswerSettings;
};

/** An answer as one client reads it. Who reads it again gets the same id and time. */
export type ClientAnswer = {
  readonly conversationName: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Names of the model's variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** Random letters and digits, known before the response's id. */
  readonly token: string;
  readonly createdSeconds: number;
  /** Resolves once the request's turn in the conversation has come. */
  readonly responseID: () => Promise<string>;
  /** Read it once, to its end or until `stop`. A reader that stops early counts as disconnected. */
  readonly output: PolledOutput;
};

/** What a request takes that starts an answer, beyond the time for which its client reads. Each is given back once. */
export type AnswerReservation = {
  /** The answer has ended. */
  readonly end: () => void;
  /** Nothing holds the request any more. */
  readonly release: () => void;
};

type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly identity: RequestIdentity;
  /** Called if the request starts an answer and joins none. Faults with `overloaded`. */
  readonly reserve: () => AnswerReservation;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

export type Answers = {
  /** Faults if the answer fails within a short time. Later failures are output events. */
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
};

type ResolvedAnswer = Pick<RequestMark, 'token' | 'createdSeconds'> & {
  readonly conversationName: string;
  readonly model: AgentModel;
  readonly running: Promise<RunningAnswer>;
};
/** What a request and its retries share. */
type StartedAnswer = {
  readonly resolved: Promise<ResolvedAnswer>;
  /** Undefined once the answer has ended: one that is kept for retries must not keep its request in memory. */
  readonly request: () => BridgeRequest | undefined;
};

type KnownTurn = Extract<StartedTurn, { readonly kind: 'known' }>;
/** An answer whose conversation is known. `overtaken`: another bridge was the first with its key. */
type Ran = { readonly kind: 'running'; readonly running: RunningAnswer } | { readonly kind: 'overtaken' };
type BegunAnswer = Pick<ResolvedAnswer, 'conversationName' | 'token' | 'createdSeconds'> & {
  readonly ran: Promise<Ran>;
};
type IsFirst = (signal: AbortSignal) => Promise<boolean>;
const ALWAYS_FIRST: IsFirst = async () => true;

const OWN_TOKENS_LIMIT = 10_000;
/** A stream with a key is opened after this time in any case. */
const DECIDED_WITHIN_MS = 300;
/** A failure within this time is answered with an HTTP status. After it, the stream is opened in any case. */
const STATUS_WITHIN_MS = 400;

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const {
    agent,
    feed,
    sessionFamilies,
    sharedRequests,
    conversations,
    catalog,
    clock,
    chance,
    log,
    newToken,
    digest,
    settings,
  } = needs;
  const turn = { agent: shareTurnReads(agent), feed, sessionFamilies, sharedRequests, clock, chance, log };
  const runAnswer = createAnswerRunner({ turn, settings, runInSlices: needs.runInSlices });
  const createdAt = clock.now();
  const shared = createSharedAnswers<StartedAnswer>(clock, settings.onDisconnect);

  const times = leftAnswerTimes(settings.onDisconnect);
  /** Tokens of the answers of this bridge, with those that it has taken over. */
  const ownTokens = new Map<string, true>();
  const isOwn = (token: string): boolean => ownTokens.has(token);

  const run = async (lock: ResolvedConversation['lock'], start: AnswerStart, isFirst: IsFirst): Promise<Ran> => {
    const { signal } = start.handle;
    /** What was joined when the turn was found, which its last reader may have left before it was followed. */
    const giveBack = (sessionID: string): void => {
      if (start.started !== undefined && signal.aborted) void start.readersOf?.(() => sessionID).leave();
    };
    const locked = await lock(signal);
    try {
      await feed.untilOpen(signal);
      if (await isFirst(signal)) return { kind: 'running', running: await runAnswer(locked, start) };
    } catch (error) {
      giveBack(locked.session.sessionID);
      locked.release();
      throw error;
    }
    locked.release();
    return { kind: 'overtaken' };
  };
  /**
   * The turn of the same request that another bridge has started, or this one before it was restarted. Soon after its start it
   * may be one that a killed process has left.
   */
  const findStarted = async (
    sent: Omit<MarkedRequest, 'isSoon' | 'times' | 'isOwn'>,
    signal: AbortSignal,
  ): Promise<KnownTurn | undefined> => {
    if (isOneOff(sent.request)) return undefined;
    const isSoon = clock.now() - createdAt < times.joinedMs;
    const started = await conversations.findStarted({ ...sent, isSoon, times, isOwn }, signal);
    if (started?.kind === 'cut-off') throw toFault(abortedFailure(started.toolNames));
    return started;
  };
  const resolve = async (
    { request, owner, identity }: AnswerRequest,
    handle: AnswerHandle,
    isKnown: boolean,
  ): Promise<ResolvedAnswer> => {
    const { signal } = handle;
    const found = await catalog.find(request.model);
    const model = request.isBackgroundTask ? await catalog.findSmall(found) : found;
    // Its client has gone on, so no client comes back for it, and its conversation is needed.
    await shared.endAbandoned(owner, (earlier) => continuesAfter(request, earlier.request()));
    const next = nextOf(request, digest);
    const createMark = (): RequestMark => ({
      digest: identity.digest,
      ...(identity.key === undefined ? {} : { keyDigest: digest(identity.key) }),
      ...(next === undefined ? {} : { next }),
      token: newToken(),
      createdSeconds: Math.floor(clock.now() / 1000),
      readers: [conversations.bridgeID],
    });
    const begin = async (): Promise<BegunAnswer> => {
      const mark = createMark();
      const isFirst =
        isOneOff(request) || identity.key === undefined ? undefined : conversations.enterRace(owner, mark);
      const sent = { request, owner, mark, isRetry: identity.isRetry, isKnown };
      const started = await findStarted(sent, signal);
      if (isKnown && started === undefined) throw toFault(ANSWER_NOT_KEPT);
      if (started === undefined && settings.onDisconnect.kind !== 'detach')
        await conversations.endLeft(request, owner, { isOwn, digest, signal });
      const { name, lock } = started ?? (await conversations.resolve(request, owner, signal, mark));
      const { token, createdSeconds } = started?.mark ?? mark;
      setNewest(ownTokens, [token, true], OWN_TOKENS_LIMIT);
      const readersOf: AnswerStart['readersOf'] = isOneOff(request)
        ? undefined
        : (sessionID) => conversations.readersOf({ sessionID, token, promptID: started?.promptID });
      const start = { request, model, handle, token, started, readersOf };
      const ran = run(lock, start, started === undefined ? (isFirst ?? ALWAYS_FIRST) : ALWAYS_FIRST);
      return { conversationName: name, token, createdSeconds, ran };
    };
    const runUntilFirst = async (
      { ran }: BegunAnswer,
      onBegun: (begun: BegunAnswer) => void,
    ): Promise<RunningAnswer> => {
      for (let result = await ran; ; ) {
        if (result.kind === 'running') return result.running;
        const begun = await begin();
        onBegun(begun);
        result = await begun.ran;
      }
    };
    let begun = await begin();
    const running = runUntilFirst(begun, (again) => {
      begun = again;
    });
    running.catch(() => handle.end('void'));
    // Of requests with one key that come to several bridges at a moment one goes on, under its names; most come alone.
    if (identity.key !== undefined)
      await Promise.race([running.catch(() => {}), pause(clock, DECIDED_WITHIN_MS, signal)]);
    const { conversationName, token, createdSeconds } = begun;
    return { conversationName, model, running, token, createdSeconds };
  };
  const create = (sent: AnswerRequest, handle: AnswerHandle, isKnown: boolean): StartedAnswer => {
    const reservation = sent.reserve();
    let request: BridgeRequest | undefined = sent.request;
    const end: AnswerHandle['end'] = (result, chars) => {
      request = undefined;
      reservation.end();
      handle.end(result, chars);
    };
    // No function here may use `sent`: what is kept for retries would keep it.
    const resolved = resolve(sent, { ...handle, end }, isKnown);
    resolved.catch(() => end('void'));
    resolved
      .then(({ running }) => running)
      .then(({ released }) => released)
      .then(reservation.release, reservation.release);
    return { resolved, request: () => request };
  };
  return {
    async start(sent) {
      const { signal } = sent;
      const reader = await shared.claim(sent, (handle, isKnown) => create(sent, handle, isKnown));
      const waiting = new AbortController();
      signal.addEventListener('abort', reader.leave, { once: true });
      try {
        signal.throwIfAborted();
        const answer = await untilAborted(reader.answer.resolved, signal);
        const { conversationName, running, token, createdSeconds } = answer;
        const soon = pause(clock, STATUS_WITHIN_MS, waiting.signal).then(() => undefined);
        const refusal = await untilAborted(Promise.race([running.then((found) => found.refusal()), soon]), signal);
        if (refusal !== undefined) {
          reader.finish();
          throw toFault(refusal);
        }
        const model = modelNameOf(answer.model);
        log('debug', 'answer-begun', { model });
        return {
          conversationName,
          model,
          variants: answer.model.variants,
          token,
          createdSeconds,
          responseID: async () => (await running).responseID,
          output: readRunning(running, reader, signal),
        };
      } catch (error) {
        reader.leave();
        throw error;
      } finally {
        waiting.abort(new Fault({ kind: 'client-left' }));
      }
    },
  };
};
