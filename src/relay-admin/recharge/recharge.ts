import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { type ChangeQueueNeeds, createChangeQueue } from '../change/serialize.ts';
import { RelayError } from '../errors/errors.ts';
import { formatUnits, type Units } from '../money.ts';
import { findCredits } from '../relay/history.ts';
import { readUser } from '../relay/users.ts';
import type { ClaimEntry } from './journal.ts';
import { PREVIEW_LIFETIME_MS, type Preview, type PreviewTokens } from './preview-token.ts';
import { createOutcomeRecorder, type RecorderNeeds } from './record.ts';
import { NOTHING_READ, RechargeResult, type RelayAnswer, toRechargeResult } from './result.ts';
import { findUnresolved } from './unresolved.ts';

/** The pair that makes a recharge one and the same, whenever and however often it is asked for. */
export type TokenKeyPair = { readonly token: string; readonly key: string };

/** What is kept of a pair. Neither half can be found from its hash. */
export type PairHashes = {
  readonly token: string;
  readonly key: string;
  /** Stands in the notes of the credit, where the relay's users see it: the beginning of the key's hash. */
  readonly marker: string;
};

const MARKER_CHARS = 16;

/** The hashes of a pair, with SHA-256 in hexadecimal digits as `digest`. */
export const hashPair = async (
  { token, key }: TokenKeyPair,
  digest: (text: string) => Promise<string>,
): Promise<PairHashes> => {
  const keyHash = await digest(`key ${key}`);
  return { token: await digest(`token ${token}`), key: keyHash, marker: `rc_${keyHash.slice(0, MARKER_CHARS)}` };
};

export type RechargeNeeds = RecorderNeeds &
  ChangeQueueNeeds & {
    readonly tokens: PreviewTokens;
    readonly digest: (text: string) => Promise<string>;
    readonly largestRecharge: Units;
  };

/** What may be claimed, and how to give up the user's turn. */
type AdmittedRecharge = {
  readonly draft: Omit<ClaimEntry, 'kind' | 'by'>;
  /** How many recharges of the user were on record before the user was looked at. */
  readonly knownClaims: number;
  readonly leave: () => void;
};

/** A change may start only while this share of the call's time is left: for its answer, and for looking afterwards. */
const SHARE_TO_START = 0.5;
const SHARE_TO_READ_BACK = 0.25;

const NO_ANSWER: RelayAnswer = { isAccepted: false, isRelayReplay: false, doubt: 'no-answer' };

const hasTimeToSend = ({ remainingMs, limitMs }: CallDeadline): boolean => remainingMs() >= limitMs * SHARE_TO_START;

/** The body keeps the confirmed digits. Amounts are at most a million with 8 decimals, which a JSON number holds exactly. */
const toRequestBody = ({ amount, marker }: ClaimEntry): string =>
  `{"balance":${amount},"operation":"add","notes":${JSON.stringify(`recharge ${marker}`)}}`;

/**
 * The one way in which anything is credited. A pair of preview token and key is written to the journal before it is
 * sent, and is sent once: a second call with the pair looks up what came of it, and never sends again.
 */
export const createRecharge = (
  needs: RechargeNeeds,
): ((pair: TokenKeyPair, call: CallDeadline) => Promise<RechargeResult>) => {
  const { relay, journal, tokens, clock, digest, largestRecharge } = needs;
  const record = createOutcomeRecorder(needs);
  const turns = createChangeQueue(needs);
  const underWay = new Map<string, { readonly key: string; readonly result: Promise<RechargeResult> }>();

  /** Whether a recharge of the user was sent since a moment, whatever came of it: who confirmed a preview of before knew nothing of it. */
  const wasRecharged = (userId: number, sinceMs: number): boolean =>
    journal
      .rechargesOf(userId)
      .some(({ claim, settlement }) => claim.at > sinceMs && settlement?.state !== 'not_applied');

  /** Holds the user as they are now against what was confirmed. Answers with the balance at this moment. */
  const balanceIfFresh = async (preview: Preview, { marker }: PairHashes, call: CallDeadline): Promise<Units> => {
    const { userId } = preview;
    const [user, marked] = await Promise.all([
      readUser(relay, userId, call.signal),
      findCredits(relay, { userId, markers: [marker] }, call.signal),
    ]);
    await findUnresolved(needs, userId, call.signal);
    const previewedAtMs = preview.expiresAtMs - PREVIEW_LIFETIME_MS;
    const what = wasRecharged(userId, previewedAtMs) ? 'recharge' : await tokens.findStaleness(preview, user);
    if (what !== undefined) throw new RelayError({ kind: 'preview-stale', what });
    if ((marked.get(marker) ?? []).length > 0)
      throw new RelayError({ kind: 'idempotency-conflict', why: 'key-in-history', reference: marker });
    if (!hasTimeToSend(call)) throw new RelayError({ kind: 'deadline' });
    call.signal.throwIfAborted();
    return user.balance;
  };

  /** Everything that can refuse a recharge while nothing has been sent. Whoever is let in has the turn of the user. */
  const admit = async (pair: TokenKeyPair, hashes: PairHashes, call: CallDeadline): Promise<AdmittedRecharge> => {
    const preview = await tokens.verify(pair.token);
    const { userId } = preview;
    const amount = formatUnits(preview.amount);
    if (preview.amount > largestRecharge)
      throw new RelayError({ kind: 'amount-over-limit', amount, limit: formatUnits(largestRecharge) });
    const leave = await turns.acquire(String(userId), call.signal);
    try {
      await journal.refresh();
      const knownClaims = journal.rechargesOf(userId).length;
      const balance = await balanceIfFresh(preview, hashes, call);
      const draft = { ...hashes, at: clock.now(), userId, amount, balanceBefore: formatUnits(balance) };
      return { draft, knownClaims, leave };
    } catch (error) {
      leave();
      throw error;
    }
  };

  /** Whether another process has claimed a recharge of the user since they were looked at: the preview is of no worth then. */
  const isOvertaken = ({ by, userId }: ClaimEntry, knownClaims: number): boolean => {
    const claims = journal.rechargesOf(userId);
    const own = claims.findIndex(({ claim }) => claim.by === by);
    return claims.slice(knownClaims, own).some(({ settlement }) => settlement?.state !== 'not_applied');
  };

  /** Sends what was claimed. From here on nothing may go wrong without being told as unknown. */
  const sendOnce = async (claim: ClaimEntry, key: string, call: CallDeadline): Promise<RechargeResult> => {
    // The disk may have taken its time.
    if (call.signal.aborted || !hasTimeToSend(call)) throw await record.dismiss(claim);
    const path = `users/${claim.userId}/balance`;
    const write = { method: 'POST', path, body: toRequestBody(claim), idempotencyKey: key } as const;
    const patienceMs = call.remainingMs() - call.limitMs * SHARE_TO_READ_BACK;
    const deadline = createDeadline(clock, patienceMs, call.sentSignal);
    const answer = await relay.send(write, deadline.signal).finally(deadline.clear);
    if (answer.kind === 'refused') throw await record.dismiss(claim, answer.status);
    const said: RelayAnswer =
      answer.kind === 'accepted'
        ? { ...NO_ANSWER, isAccepted: true, isRelayReplay: answer.isReplay }
        : { ...NO_ANSWER, doubt: answer.doubt };
    return record.conclude(claim, said, call.sentSignal);
  };

  /** What is on record for the token, or the conflict with what is on record for another pair. */
  const recallIfSame = async ({ token, key }: PairHashes, call: CallDeadline): Promise<RechargeResult> => {
    const recorded = journal.findByToken(token);
    const { marker: reference = '' } = (recorded ?? journal.findByKey(key))?.claim ?? {};
    if (recorded === undefined) throw new RelayError({ kind: 'idempotency-conflict', why: 'key-used', reference });
    if (recorded.claim.key !== key)
      throw new RelayError({ kind: 'idempotency-conflict', why: 'token-used', reference });
    return record.recall(recorded, call.signal);
  };

  const isOnRecord = ({ token, key }: PairHashes): boolean =>
    journal.findByToken(token) !== undefined || journal.findByKey(key) !== undefined;

  const isProven = ({ token }: PairHashes): boolean => {
    const settlement = journal.findByToken(token)?.settlement;
    return settlement !== undefined && settlement.state !== 'accepted_unverified';
  };

  const start = async (pair: TokenKeyPair, hashes: PairHashes, call: CallDeadline): Promise<RechargeResult> => {
    const admitted = await admit(pair, hashes, call).catch(async (error: unknown): Promise<undefined> => {
      // Another process may have been quicker with this pair: what stands in the way here is then its very credit.
      await journal.refresh();
      if (!isOnRecord(hashes)) throw error;
    });
    if (admitted === undefined) return recallIfSame(hashes, call);
    const { draft, knownClaims, leave } = admitted;
    try {
      // Known to be a result that clients take, before there is something to be told with it.
      v.parse(RechargeResult, toRechargeResult({ ...draft, kind: 'claim', by: '' }, NO_ANSWER, NOTHING_READ));
      const { claim, isOwn } = await journal.claim(draft);
      if (!isOwn) return await recallIfSame(hashes, call);
      if (isOvertaken(claim, knownClaims)) throw await record.dismiss(claim);
      return await sendOnce(claim, pair.key, call);
    } finally {
      leave();
    }
  };

  return async (pair, call) => {
    const hashes = await hashPair(pair, digest);
    await journal.refresh().catch((error: unknown) => {
      // Whoever asks for what is known here is told it, also when the file cannot be read any more.
      if (underWay.has(hashes.token) || isOnRecord(hashes)) return;
      // What an earlier process has done with this pair cannot be known now.
      const isClosed = error instanceof RelayError && error.detail.kind === 'journal-unavailable';
      throw isClosed ? new RelayError({ ...error.detail, outcome: 'unknown' }) : error;
    });
    const twin = underWay.get(hashes.token);
    // What is proven counts more than what is under way here: another process may have been quicker than that.
    if (twin?.key === hashes.key && !isProven(hashes)) return { ...(await twin.result), replayed: true };
    if (isOnRecord(hashes)) return recallIfSame(hashes, call);
    if (twin !== undefined)
      throw new RelayError({ kind: 'idempotency-conflict', why: 'token-used', reference: hashes.marker });
    const result = start(pair, hashes, call);
    underWay.set(hashes.token, { key: hashes.key, result });
    return result.finally(() => underWay.delete(hashes.token));
  };
};
