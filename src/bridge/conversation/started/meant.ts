import type { Clock } from '../../../core/clock.ts';
import type { ConversationIndex } from '../lookup.ts';
import { isAnswered, type StoredConversation } from '../record.ts';
import type { MarkedRequest } from '../types.ts';
import { isMarked, type MarkedConversation, type RequestMarks, type SeenMark } from './marks.ts';
import { areAllOlder } from './readers.ts';

type MeantMarksNeeds = {
  readonly index: ConversationIndex;
  readonly marks: RequestMarks;
  readonly clock: Clock;
  /** Tokens of the answers that this bridge gives now: it knows whose they are. */
  readonly ownTokens: ReadonlySet<string>;
  readonly bridgeID: string;
  /** Tokens of turns that requests without a key read now. An equal request of another user must not read the same turn. */
  readonly given: ReadonlySet<string>;
};

/** The mark of an earlier copy of a request. `isMeant` is `cut-off` if it counts as that only where its turn was cut off. */
export type MeantMark = SeenMark & { readonly isMeant: true | 'cut-off' };

/** No client sends a request again after this time. */
const KNOWN_MS = 3_600_000;
/** For how long after its end an answer is given to a client that says that it tries again: it may have been lost on its way. */
const GIVEN_AGAIN_MS = 10_000;
/** For how long a failure is given to a client that does not say that it tries again. */
const REPEATED_WITHIN_MS = 5000;
/** Without a key an equal request is a new one once the answer was given, but not if that was cut off. */
const isGiven = (conversation: MarkedConversation): boolean =>
  isAnswered(conversation, conversation.request) && conversation.stoppedAt === undefined;

/** Finds the mark of the earlier copy of a request, if it was sent before. */
export const createMeantMarks = ({ index, marks, clock, ownTokens, given, bridgeID }: MeantMarksNeeds) => {
  /**
   * `isMeant` for a request that does not say that it is sent again: an equal one may be new, and of another user. In the background
   * it is always new, because its client has the id of the earlier one and reads that by it.
   */
  const isLeftFor = (
    { conversation, storedAtMs }: SeenMark,
    { isOwn, isSoon, times }: MarkedRequest,
  ): boolean | 'cut-off' => {
    const { request } = conversation;
    const { isUnread, readers = [] } = request;
    const failedAtMs = marks.times.failedAtOf(request);
    if (request.isBackground === true || given.has(request.token) || isOwn(request.token)) return false;
    if (failedAtMs !== undefined) return clock.now() - failedAtMs < REPEATED_WITHIN_MS;
    // A bridge that stored the mark before this process was started may have been killed.
    const isUnfinished = isUnread !== true || readers.length > 0 || conversation.stoppedAt !== undefined;
    const mayBeKilled = isSoon && storedAtMs === undefined && areAllOlder(request, bridgeID);
    if (mayBeKilled && !isGiven(conversation) && isUnfinished) return true;
    const leftAtMs = marks.times.leftAtOf(request);
    if (leftAtMs === undefined) return false;
    const ageMs = clock.now() - leftAtMs;
    if (ageMs < times.joinedMs) return !isAnswered(conversation, request);
    return ageMs < times.abortedAfterMs + REPEATED_WITHIN_MS && 'cut-off';
  };
  const isMeant = (seen: SeenMark, sent: MarkedRequest): boolean | 'cut-off' => {
    const { conversation, usedAtMs } = seen;
    const { mark, isRetry, isKnown } = sent;
    const { request } = conversation;
    if (ownTokens.has(request.token)) return false;
    if (request.keyDigest !== mark.keyDigest || clock.now() - usedAtMs > KNOWN_MS) return false;
    if (request.keyDigest !== undefined) return true;
    if (request.digest !== mark.digest) return false;
    if (!isKnown && !isRetry) return isLeftFor(seen, sent);
    const mayBeLost = isKnown || request.isUnread === true || clock.now() - usedAtMs < GIVEN_AGAIN_MS;
    return !given.has(request.token) && (mayBeLost || !isGiven(conversation));
  };
  /** Whether it may have been sent long ago. What a process has left that was just killed is among the newest. */
  const mayBeOld = ({ isRetry, isKnown, mark }: MarkedRequest): boolean =>
    isRetry || isKnown || mark.keyDigest !== undefined;
  /** Of several earlier copies the one without a client, else the latest. `gone`: sessions that do not count. */
  const find = (sent: MarkedRequest, gone: ReadonlySet<string>): MeantMark | undefined => {
    const isThere = ({ sessionID, request }: StoredConversation): boolean =>
      !gone.has(sessionID) && !gone.has(request?.token ?? '');
    const seen = marks.of(sent).filter(({ conversation }) => isThere(conversation));
    const found = seen.flatMap((one) => {
      const meant = isMeant(one, sent);
      return meant === false ? [] : [{ ...one, isMeant: meant }];
    });
    // A client disconnects before it sends its request again.
    const lastOf = (some: readonly MeantMark[]): MeantMark | undefined =>
      some.findLast(({ conversation }) => marks.times.leftAtOf(conversation.request) !== undefined) ?? some.at(-1);
    // What counts only where it was cut off may be of a client that has long gone on.
    const last = lastOf(found.filter((one) => one.isMeant === true)) ?? lastOf(found);
    if (last !== undefined || seen.length > 0 || !(sent.isSoon || mayBeOld(sent))) return last;
    const old = index
      .byRequest(sent)
      .toSorted((one, other) => one.usedAt - other.usedAt)
      .findLast(
        (conversation) =>
          isMarked(conversation) &&
          isThere(conversation) &&
          isMeant({ conversation, storedAtMs: undefined, usedAtMs: conversation.usedAt }, sent) === true,
      );
    return old && isMarked(old)
      ? { conversation: old, storedAtMs: undefined, usedAtMs: old.usedAt, isMeant: true }
      : undefined;
  };
  /**
   * Whether another bridge answers an equal request, and neither has a key or is marked as a retry. That bridge may be about to
   * see that its client has disconnected, and then this is the same request sent again.
   */
  const mayBeLeftSoon = (sent: MarkedRequest): boolean =>
    sent.mark.keyDigest === undefined &&
    !sent.isRetry &&
    marks
      .of(sent)
      .some(
        ({ conversation, storedAtMs }) =>
          storedAtMs !== undefined &&
          conversation.claim === conversation.request.token &&
          conversation.request.digest === sent.mark.digest &&
          conversation.request.isBackground !== true &&
          !ownTokens.has(conversation.claim) &&
          !given.has(conversation.claim),
      );
  return { find, mayBeOld, mayBeLeftSoon };
};
