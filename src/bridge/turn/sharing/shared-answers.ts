import { untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import type { LeftAnswerTimes, TurnReaders } from '../../conversation/types.ts';
import { IDEMPOTENCY_KEY_REUSED } from '../../request.ts';
import {
  type AnswerResult,
  createKeptAnswers,
  findOwn,
  isEnding,
  type KeptAnswer,
  type RequestIdentity,
} from './kept-answers.ts';

/**
 * What happens to an answer whose last reader has disconnected: it is aborted at once, it is aborted after `ms` unless a client
 * comes back, or it continues.
 */
export type DisconnectPolicy =
  | { readonly kind: 'abort' }
  | { readonly kind: 'grace'; readonly ms: number }
  | { readonly kind: 'detach' };

/** What an answer tells those who share it. */
export type AnswerHandle = {
  /** Aborts when no client wants the answer any more. */
  readonly signal: AbortSignal;
  /**
   * The agent gets the prompt now. Until then an answer without readers is aborted at once, because that costs nothing.
   * `turnReaders`: from now on readers at other bridges count, too. `isOfResults`: calls of the client got the request's results.
   */
  readonly begin: (turnReaders?: TurnReaders, isOfResults?: boolean) => void;
  /** Whether a client reads it here at the moment. */
  readonly hasReader: () => boolean;
  /** Whether a client reads it at the moment, here or at another bridge. */
  readonly isRead: () => boolean;
  /** It has ended, and holds so many characters for those who come back. Later calls change nothing. */
  readonly end: (result: AnswerResult, chars?: number) => void;
};

/** One request that reads an answer. Only the first call of one of the functions counts. */
export type SharedAnswerReader<T> = {
  readonly answer: T;
  /** The client has disconnected before it had everything. */
  readonly leave: () => void;
  /** The client has everything. */
  readonly finish: () => void;
};

type CreateAnswer<T> = (handle: AnswerHandle, isKnown: boolean) => T;

type ClaimingRequest = {
  readonly owner: string;
  readonly identity: RequestIdentity;
  /** Whether its answer goes on without readers: a client that leaves has all it came for. */
  readonly isBackground?: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

/** The answers that run or have ended lately, so that a request that is sent again joins its own and nothing runs twice. */
export type SharedAnswers<T> = {
  /**
   * The answer that the request has started earlier, else a new one. Faults when its key came with another request, and when
   * `create` does. `isKnown`: the request was answered before, and only the text is not here any more, so it must not run again.
   */
  readonly claim: (request: ClaimingRequest, create: CreateAnswer<T>) => Promise<SharedAnswerReader<T>>;
  /** Aborts answers without readers, unless they go on by policy, and resolves when they have ended. Never rejects. */
  readonly endAbandoned: (owner: string, isMeant: (answer: T) => boolean) => Promise<void>;
};

/** How long after its reader has left an answer waits for an equal request that does not say that it is a retry. */
const JOINED_DETACHED_MS = 10_000;
/** For how long an equal request that is not marked as a retry joins an answer that its reader has left. */
const joinedWithinMs = (policy: DisconnectPolicy): number => {
  if (policy.kind === 'grace') return policy.ms;
  return policy.kind === 'detach' ? JOINED_DETACHED_MS : 0;
};

/** After what time without readers an answer is aborted. */
const abortedAfterMs = (policy: DisconnectPolicy): number => {
  if (policy.kind === 'grace') return policy.ms;
  return policy.kind === 'detach' ? Number.POSITIVE_INFINITY : 0;
};
/** What a disconnect policy means for a request that is sent again to another bridge. */
export const leftAnswerTimes = (policy: DisconnectPolicy): LeftAnswerTimes => ({
  joinedMs: joinedWithinMs(policy),
  abortedAfterMs: abortedAfterMs(policy),
});

const isSameRequest = (one: RequestIdentity, other: RequestIdentity): boolean =>
  one.digest === other.digest || (other.key === undefined && one.callsDigest === other.callsDigest);

/**
 * A client disconnects before it tries again, so what another one reads is not what it has started. What has not begun may be
 * what an equal retry has found elsewhere.
 */
const isOfOther = (entry: KeptAnswer<unknown> | undefined, { key, callsDigest, isRetry }: RequestIdentity): boolean =>
  isRetry && key === undefined && callsDigest === undefined && entry?.hasBegun === true && entry.readers > 0;

/** `isLeftElsewhere`: whether the last client of an equal request without a key has left its answer at another bridge, where it waits. */
export const createSharedAnswers = <T>(
  clock: Clock,
  policy: DisconnectPolicy,
  isLeftElsewhere: (owner: string, digest: string) => boolean,
): SharedAnswers<T> => {
  const keptAnswers = createKeptAnswers<T>();
  /** Aborts an answer that no bridge has a reader for. */
  const abortIf = (entry: KeptAnswer<T>, isAbandoned: Promise<boolean> | undefined): void => {
    const decide = async (): Promise<void> => {
      const isToEnd = (await isAbandoned) !== false && entry.readers === 0;
      entry.leaving = undefined;
      if (isToEnd) entry.abort();
    };
    entry.leaving = decide();
  };
  const onFinished = (entry: KeptAnswer<T>): void => {
    entry.usedAt = clock.now();
  };
  const onLeft = (entry: KeptAnswer<T>): void => {
    if (entry.readers > 0) return;
    if (entry.isGiven) {
      onFinished(entry);
      return;
    }
    entry.leftAt = clock.now();
    const { ended, turnReaders } = entry;
    const isLast = ended?.result === 'void' ? undefined : turnReaders?.leave();
    if (ended !== undefined) return;
    if (!entry.hasBegun || (policy.kind === 'abort' && isLast === undefined)) entry.abort();
    else if (policy.kind === 'abort') abortIf(entry, isLast);
    else if (policy.kind === 'grace')
      entry.cancelAbort = clock.after(policy.ms, () => {
        if (turnReaders === undefined) entry.abort();
        else abortIf(entry, turnReaders.isAbandoned());
      });
  };
  const addReader = (entry: KeptAnswer<T>, answer: T): SharedAnswerReader<T> => {
    const isBack = entry.readers === 0 && entry.leftAt !== undefined;
    entry.readers += 1;
    entry.leftAt = undefined;
    if (isBack) entry.turnReaders?.join();
    entry.cancelAbort();
    let isGone = false;
    const once = (onGone: () => void) => (): void => {
      if (isGone) return;
      isGone = true;
      entry.readers -= 1;
      onGone();
    };
    return {
      answer,
      leave: once(() => (entry.isBackground ? onFinished(entry) : onLeft(entry))),
      finish: once(() => {
        onFinished(entry);
        if (entry.ended?.result !== 'answered') return;
        entry.isGiven = true;
        entry.turnReaders?.finish();
      }),
    };
  };
  const add = (
    entries: Set<KeptAnswer<T>>,
    { identity, isBackground = false }: Pick<ClaimingRequest, 'identity' | 'isBackground'>,
    { create, isKnown }: { readonly create: CreateAnswer<T>; readonly isKnown: boolean },
  ): SharedAnswerReader<T> => {
    const controller = new AbortController();
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    const end = (result: AnswerResult, chars = 0): void => {
      if (entry.ended !== undefined) return;
      entry.cancelAbort();
      // What was answered before is looked for again, but never becomes a request that may run.
      const isNotFound = isKnown && result === 'void';
      entry.ended = { at: clock.now(), result: isNotFound ? 'failed' : result };
      entry.usedAt = clock.now();
      if (isNotFound) entry.answer = undefined;
      else keptAnswers.hold(entry, chars);
      keptAnswers.sweep(entries, clock.now());
      settle();
    };
    const begin = (turnReaders?: TurnReaders, isOfResults = false): void => {
      entry.hasBegun = true;
      entry.isOfResults = isOfResults;
      entry.turnReaders = turnReaders;
    };
    const hasReader = (): boolean => entry.readers > 0;
    const isRead = (): boolean => hasReader() || entry.turnReaders?.elsewhere().isRead === true;
    const answer = create({ signal: controller.signal, begin, hasReader, isRead, end }, isKnown);
    const entry: KeptAnswer<T> = {
      identity,
      isBackground,
      answer,
      abort: () => controller.abort(new Fault({ kind: 'client-left' })),
      isAborted: () => controller.signal.aborted,
      settled,
      readers: 0,
      hasBegun: false,
      isOfResults: false,
      turnReaders: undefined,
      isGiven: false,
      leaving: undefined,
      leftAt: undefined,
      ended: undefined,
      usedAt: clock.now(),
      chars: 0,
      cancelAbort() {},
    };
    entries.add(entry);
    return addReader(entry, answer);
  };
  return {
    async claim(request, create) {
      const { owner, identity, signal } = request;
      const entries = keptAnswers.of(owner);
      const joinedMs = joinedWithinMs(policy);
      for (;;) {
        keptAnswers.sweep(entries, clock.now());
        const equal = findOwn([...entries], identity, { now: clock.now(), joinedMs });
        const found = isOfOther(equal, identity) && isLeftElsewhere(owner, identity.digest) ? undefined : equal;
        if (found?.ended?.result === 'void') keptAnswers.drop(entries, found);
        else if (found !== undefined && !isSameRequest(found.identity, identity)) throw IDEMPOTENCY_KEY_REUSED;
        else if (found?.answer !== undefined && !isEnding(found)) return addReader(found, found.answer);
        if (found === undefined || found.ended !== undefined) {
          const isKnown = found !== undefined && found.ended?.result !== 'void';
          const reader = add(entries, request, { create, isKnown });
          if (found !== undefined) keptAnswers.drop(entries, found);
          return reader;
        }
        await untilAborted(found.leaving ?? found.settled, signal);
      }
    },
    async endAbandoned(owner, isMeant) {
      if (policy.kind === 'detach') return;
      const abandoned = [...keptAnswers.of(owner)].filter(
        ({ readers, ended, answer, turnReaders, isBackground }) =>
          readers === 0 &&
          !isBackground &&
          turnReaders?.elsewhere().isRead !== true &&
          ended === undefined &&
          answer !== undefined &&
          isMeant(answer),
      );
      for (const { abort } of abandoned) abort();
      await Promise.all(abandoned.map(({ settled }) => settled));
    },
  };
};
