import { pause } from '../../../core/async.ts';
import { setNewest } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import type { AgentEventStream, AgentModel } from '../../agent/types.ts';
import { nextOf } from '../../conversation/started/left.ts';
import type {
  Conversations,
  MarkedRequest,
  Owner,
  RequestMark,
  ResolvedConversation,
  StartedTurn,
} from '../../conversation/types.ts';
import { type BridgeRequest, isOneOff } from '../../request.ts';
import { ANSWER_NOT_KEPT, abortedFailure, toFault } from '../failure.ts';
import type { AnswerStart } from '../new-turn.ts';
import type { AnswerRunner, RunningAnswer } from '../running-answer.ts';
import type { RequestIdentity } from './kept-answers.ts';
import { type AnswerHandle, type DisconnectPolicy, leftAnswerTimes } from './shared-answers.ts';

type AnswerBeginningNeeds = {
  readonly conversations: Conversations;
  readonly feed: Pick<AgentEventStream, 'untilOpen'>;
  readonly clock: Clock;
  readonly newToken: () => string;
  readonly digest: (text: string) => string;
  readonly onDisconnect: DisconnectPolicy;
  readonly runAnswer: AnswerRunner;
};

type BeginningRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly identity: RequestIdentity;
  readonly model: AgentModel;
  readonly handle: AnswerHandle;
  /** Whether this bridge knows that the request was answered before. Then it must not run again. */
  readonly isKnown: boolean;
};

/** An answer whose conversation is known. Its `token` and `createdSeconds` are those of the mark of its request. */
export type BegunAnswer = Pick<RequestMark, 'token' | 'createdSeconds'> & {
  readonly conversationName: string;
  /** Resolves once the request's turn in the conversation has come. */
  readonly running: Promise<RunningAnswer>;
};

/**
 * Begins the answer of a request that this bridge has no answer for: follows the turn that another bridge, or an earlier process,
 * has started for the same request, else starts one. Faults with `overloaded`, with `bad-input` when the request does not fit
 * what is stored, and when an answer that was given before is lost. Ends the handle as `void` when the answer cannot run.
 */
type BeginAnswer = (given: BeginningRequest) => Promise<BegunAnswer>;

type KnownTurn = Extract<StartedTurn, { readonly kind: 'known' }>;
/** `overtaken`: another bridge was the first with the same key, and has begun the answer. */
type Ran = { readonly kind: 'running'; readonly running: RunningAnswer } | { readonly kind: 'overtaken' };
type Attempt = Omit<BegunAnswer, 'running'> & { readonly ran: Promise<Ran> };
type IsFirst = (signal: AbortSignal) => Promise<boolean>;
const ALWAYS_FIRST: IsFirst = async () => true;

const OWN_TOKENS_LIMIT = 10_000;
/** A stream with a key is opened after this time in any case. */
const DECIDED_WITHIN_MS = 300;

export const createAnswerBeginning = (needs: AnswerBeginningNeeds): BeginAnswer => {
  const { conversations, feed, clock, newToken, digest, onDisconnect, runAnswer } = needs;
  const createdAt = clock.now();
  const times = leftAnswerTimes(onDisconnect);
  /** Tokens of the answers of this bridge, with those that it has taken over. */
  const ownTokens = new Map<string, true>();
  const isOwn = (token: string): boolean => ownTokens.has(token);

  const run = async (lock: ResolvedConversation['lock'], start: AnswerStart, isFirst: IsFirst): Promise<Ran> => {
    const { signal } = start.handle;
    /** The turn was joined when it was found. Its last client may have left before this bridge followed it. */
    const leaveTurn = (sessionID: string): void => {
      if (start.started !== undefined && signal.aborted) void start.readersOf?.(() => sessionID).leave();
    };
    const locked = await lock(signal);
    try {
      await feed.untilOpen(signal);
      if (await isFirst(signal)) return { kind: 'running', running: await runAnswer(locked, start) };
    } catch (error) {
      leaveTurn(locked.session.sessionID);
      locked.release();
      throw error;
    }
    locked.release();
    return { kind: 'overtaken' };
  };
  /** The turn of the same request that another bridge has started, or an earlier process. */
  const findStarted = async (
    sent: Omit<MarkedRequest, 'isSoon' | 'times' | 'isOwn'>,
    signal: AbortSignal,
  ): Promise<KnownTurn | undefined> => {
    if (isOneOff(sent.request)) return undefined;
    // Soon after the start of this process, the one before it may have been killed during the turn.
    const isSoon = clock.now() - createdAt < times.joinedMs;
    const started = await conversations.findStarted({ ...sent, isSoon, times, isOwn }, signal);
    if (started?.kind === 'cut-off') throw toFault(abortedFailure(started.toolNames));
    return started;
  };
  const createMark = (request: BridgeRequest, identity: RequestIdentity): RequestMark => {
    const next = nextOf(request, digest);
    return {
      digest: identity.digest,
      ...(identity.key === undefined ? {} : { keyDigest: digest(identity.key) }),
      ...(next === undefined ? {} : { next }),
      token: newToken(),
      createdSeconds: Math.floor(clock.now() / 1000),
      readers: [conversations.bridgeID],
      ...(request.isBackground === true ? { isBackground: true } : {}),
    };
  };
  const attempt = async ({ request, owner, identity, model, handle, isKnown }: BeginningRequest): Promise<Attempt> => {
    const { signal } = handle;
    const mark = createMark(request, identity);
    const isFirst = isOneOff(request) || identity.key === undefined ? undefined : conversations.enterRace(owner, mark);
    const started = await findStarted({ request, owner, mark, isRetry: identity.isRetry, isKnown }, signal);
    if (isKnown && started === undefined) throw toFault(ANSWER_NOT_KEPT);
    if (started === undefined && onDisconnect.kind !== 'detach')
      await conversations.endLeft(request, owner, { isOwn, digest, signal });
    const { name, lock } = started ?? (await conversations.resolve(request, owner, signal, mark));
    const { token, createdSeconds } = started?.mark ?? mark;
    setNewest(ownTokens, [token, true], OWN_TOKENS_LIMIT);
    const readersOf: AnswerStart['readersOf'] = isOneOff(request)
      ? undefined
      : (sessionID) => conversations.readersOf({ sessionID, token, promptID: started?.promptID });
    const start = { request, model, handle, token, started, readersOf, hasKey: identity.key !== undefined };
    const ran = run(lock, start, started === undefined ? (isFirst ?? ALWAYS_FIRST) : ALWAYS_FIRST);
    return { conversationName: name, token, createdSeconds, ran };
  };

  return async (given) => {
    const { identity, handle } = given;
    let latest = await attempt(given);
    const runUntilFirst = async (): Promise<RunningAnswer> => {
      for (;;) {
        const result = await latest.ran;
        if (result.kind === 'running') return result.running;
        latest = await attempt(given);
      }
    };
    const running = runUntilFirst();
    running.catch(() => handle.end('void'));
    // Requests with one key may come to several bridges at a moment: one goes on, and the others take its names. Most come alone.
    if (identity.key !== undefined)
      await Promise.race([running.catch(() => {}), pause(clock, DECIDED_WITHIN_MS, handle.signal)]);
    const { conversationName, token, createdSeconds } = latest;
    return { conversationName, token, createdSeconds, running };
  };
};
