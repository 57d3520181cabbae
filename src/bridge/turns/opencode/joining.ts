import { refused } from '../../errors.ts';
import type { BeginRequest } from '../port.ts';
import { toolsOf } from './entries.ts';
import type { TurnRecord, TurnsState } from './state.ts';

const KEY_LIFE_MS = 86_400_000;
/** How long an equal request without a key may join a turn that has ended. */
const DIGEST_LIFE_MS = 600_000;
/** How long an answer that was read whole is given again to a retry. */
const READ_AGAIN_MS = 10_000;
const FAILED_AGAIN_MS = 5000;
const LEFT_MS = 10_000;

type Joining = Pick<BeginRequest, 'key' | 'isKeyOfClient' | 'digest' | 'isRetry'>;

const endedWithin = ({ end }: TurnRecord, nowMs: number, limitMs: number): boolean =>
  end === undefined || nowMs - end.endedMs < limitMs;

const isLeft = ({ readers, leftMs, readMs }: TurnRecord): boolean =>
  readers.size === 0 && leftMs !== undefined && readMs === undefined;

/** For a retry: an answer that it may not have got. */
const isForRetry = ({ end, readMs }: TurnRecord, nowMs: number): boolean =>
  end === undefined || readMs === undefined || nowMs - readMs < READ_AGAIN_MS;

/** For a request that does not say that it is a retry: an answer whose reader has left before its end, and no other. */
const isAbandoned = (record: TurnRecord, nowMs: number): boolean =>
  isLeft(record) && record.joins === 0 && endedWithin(record, nowMs, record.abortAfterMs ?? LEFT_MS);

/** Nobody has read it for so long that it is aborted in a moment. */
const isGivenUp = ({ end, readers, leftMs, abortAfterMs }: TurnRecord, nowMs: number): boolean =>
  end === undefined &&
  readers.size === 0 &&
  leftMs !== undefined &&
  abortAfterMs !== null &&
  nowMs - leftMs >= abortAfterMs;

/** An answer without its end is no answer. It is begun again, unless that would make calls a second time. */
const joined = (record: TurnRecord, nowMs: number): TurnRecord | undefined => {
  const { end } = record;
  if (end?.status !== 'aborted' && !isGivenUp(record, nowMs)) return record;
  const tools = end?.tools ?? toolsOf(record.run?.steps ?? []);
  if (tools.length > 0) throw refused('turn_aborted', tools);
  return undefined;
};

const byDigest = (records: readonly TurnRecord[], { isRetry }: Joining, nowMs: number): TurnRecord | undefined => {
  const recent = records.filter(({ end }) => end === undefined || nowMs - end.endedMs < DIGEST_LIFE_MS);
  const failed = recent.find((one) => one.end?.status === 'failed' && endedWithin(one, nowMs, FAILED_AGAIN_MS));
  const fitting = recent.filter((one) => (isRetry ? isForRetry(one, nowMs) : isAbandoned(one, nowMs)));
  const found = fitting.find(isLeft) ?? fitting[0] ?? failed;
  return found && joined(found, nowMs);
};

/**
 * The turn that a request joins because an equal one has begun it; undefined if there is none. Faults with `key_reused`, and with
 * `turn_aborted` where the turn was aborted after it had called tools.
 */
export const turnToJoin = ({ turns, needs }: TurnsState, request: Joining, owner: string): TurnRecord | undefined => {
  const nowMs = needs.clock.now();
  const own = [...turns.values()].filter((record) => record.owner === owner).reverse();
  const withKey = own.find(({ key, createdMs }) => key === request.key && nowMs - createdMs < KEY_LIFE_MS);
  if (withKey !== undefined) {
    if (withKey.digest !== request.digest) throw refused('key_reused');
    return joined(withKey, nowMs);
  }
  if (request.isKeyOfClient) return undefined;
  return byDigest(
    own.filter(({ digest }) => digest === request.digest),
    request,
    nowMs,
  );
};
