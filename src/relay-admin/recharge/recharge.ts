import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { type ChangeQueueNeeds, createChangeQueue } from '../change/serialize.ts';
import { RelayError } from '../errors/errors.ts';
import { formatUnits, type Units } from '../money.ts';
import { findCredits } from '../relay/history.ts';
import { readUser } from '../relay/users.ts';
import type { ClaimEntry } from './journal.ts';
import { assertNotNegative } from './negative-balance.ts';
import { PREVIEW_LIFETIME_MS, type Preview, type PreviewTokens } from './preview-token.ts';
import { createOutcomeRecorder, type RecorderNeeds } from './record.ts';
import { NOTHING_READ, RechargeResult, type RelayAnswer, toRechargeResult } from './result.ts';
import { findDoubt, findUnresolved } from './unresolved.ts';

/** Preview token and idempotency key: together they identify one recharge, however often it is requested. */
type TokenKeyPair = {
  readonly token: string;
  readonly key: string;
  /** The marker of an earlier recharge of the same user and amount in doubt, if this one is to be sent all the same. */
  readonly acknowledgedDoubt?: string | undefined;
};

/** What is stored of a pair: hashes, from which neither the token nor the key can be found. */
type PairHashes = {
  readonly token: string;
  readonly key: string;
  /** The beginning of the key's hash. It stands in the notes of the credit, where the relay's users see it. */
  readonly marker: string;
};

const MARKER_CHARS = 16;

/** The hashes of a pair, with SHA-256 in hexadecimal digits as `digest`. */
const hashPair = async (
  { token, key }: Pick<TokenKeyPair, 'token' | 'key'>,
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

/** A recharge that may be claimed. It holds the user's position in the queue until `release`. */
type AdmittedRecharge = {
  readonly draft: Omit<ClaimEntry, 'kind' | 'by'>;
  /** How many recharges of the user were on record before the user was read. */
  readonly knownClaims: number;
  readonly release: () => void;
};

/** A recharge may start only while this share of the call's time is left: for its answer, and for reading it back. */
const SHARE_TO_START = 0.5;
const SHARE_TO_READ_BACK = 0.25;

const NO_RELAY_ANSWER: RelayAnswer = { isAccepted: false, isRelayReplay: false, unknownReason: 'no-answer' };

const hasTimeToSend = ({ remainingMs, limitMs }: CallDeadline): boolean => remainingMs() >= limitMs * SHARE_TO_START;

/** The body has the confirmed digits. Amounts are at most a million with 8 decimals, which a JSON number holds exactly. */
const toRequestBody = ({ amount, marker }: ClaimEntry): string =>
  `{"balance":${amount},"operation":"add","notes":${JSON.stringify(`recharge ${marker}`)}}`;

/**
 * The only code that credits anything. A pair of preview token and key is written to the journal before the recharge is
 * sent, and the recharge is sent once: a second call with the pair looks up the outcome and never sends again.
 *
 * Main path: `admit` checks the token, the user and the history; `journal.claim` writes the claim; `sendOnce` sends it
 * and records the outcome.
 */
export const createRecharge = (
  needs: RechargeNeeds,
): ((pair: TokenKeyPair, call: CallDeadline) => Promise<RechargeResult>) => {
  const { relay, journal, tokens, clock, digest, largestRecharge } = needs;
  const record = createOutcomeRecorder(needs);
  const queue = createChangeQueue(needs);
  const running = new Map<string, { readonly key: string; readonly result: Promise<RechargeResult> }>();

  /** Whether a recharge of the user was sent since then, with any outcome: an older preview was confirmed without knowing it. */
  const wasRecharged = (userId: number, sinceMs: number): boolean =>
    journal
      .rechargesOf(userId)
      .some(({ claim, settlement }) => claim.at > sinceMs && settlement?.state !== 'not_applied');

  /** Throws when another recharge of this user and amount is in doubt and was not named, or one was named that is not. */
  const checkDoubt = (
    recharge: { readonly userId: number; readonly amount: string },
    named: string | undefined,
  ): void => {
    const doubt = findDoubt(needs, recharge);
    if (doubt === named) return;
    if (doubt !== undefined) throw new RelayError({ kind: 'doubt-not-acknowledged', reference: doubt });
    const what = 'acknowledge_doubt: no earlier recharge of this user and amount is in doubt';
    throw new RelayError({ kind: 'invalid-argument', what, next: 'call preview_recharge and look at its warnings.' });
  };

  /** Compares the user with the confirmed preview. Returns the present balance. */
  const checkPreview = async (preview: Preview, { marker }: PairHashes, call: CallDeadline): Promise<Units> => {
    const { userId } = preview;
    const [user, marked] = await Promise.all([
      readUser(relay, userId, call.signal),
      findCredits(relay, { userId, markers: [marker] }, call.signal),
    ]);
    await findUnresolved(needs, user, call.signal);
    const previewedAtMs = preview.expiresAtMs - PREVIEW_LIFETIME_MS;
    const what = wasRecharged(userId, previewedAtMs) ? 'recharge' : await tokens.findStaleness(preview, user);
    if (what !== undefined) throw new RelayError({ kind: 'preview-stale', what });
    if ((marked.get(marker) ?? []).length > 0)
      throw new RelayError({ kind: 'idempotency-conflict', why: 'key-in-history', reference: marker });
    assertNotNegative(user.balance, preview.amount, largestRecharge);
    if (!hasTimeToSend(call)) throw new RelayError({ kind: 'deadline' });
    call.signal.throwIfAborted();
    return user.balance;
  };

  /** Every check that can refuse a recharge before anything is sent. The admitted recharge is alone for its user until `release`. */
  const admit = async (pair: TokenKeyPair, hashes: PairHashes, call: CallDeadline): Promise<AdmittedRecharge> => {
    const preview = await tokens.verify(pair.token);
    const { userId } = preview;
    const amount = formatUnits(preview.amount);
    if (preview.amount > largestRecharge)
      throw new RelayError({ kind: 'amount-over-limit', amount, limit: formatUnits(largestRecharge) });
    const release = await queue.acquire(String(userId), call.signal);
    try {
      await journal.refresh();
      const knownClaims = journal.rechargesOf(userId).length;
      const balance = await checkPreview(preview, hashes, call);
      checkDoubt({ userId, amount }, pair.acknowledgedDoubt);
      const { acknowledgedDoubt } = pair;
      const draft = {
        ...hashes,
        at: clock.now(),
        userId,
        amount,
        balanceBefore: formatUnits(balance),
        ...(acknowledgedDoubt === undefined ? {} : { acknowledgedDoubt }),
      };
      return { draft, knownClaims, release };
    } catch (error) {
      release();
      throw error;
    }
  };

  /** Whether another process has claimed a recharge of the user since the user was read: the preview is out of date then. */
  const isPrecededByOther = ({ by, userId }: ClaimEntry, knownClaims: number): boolean => {
    const claims = journal.rechargesOf(userId);
    const own = claims.findIndex(({ claim }) => claim.by === by);
    return claims.slice(knownClaims, own).some(({ settlement }) => settlement?.state !== 'not_applied');
  };

  /** Sends a claimed recharge. From here on every failure without proof has to be reported as unknown. */
  const sendOnce = async (claim: ClaimEntry, key: string, call: CallDeadline): Promise<RechargeResult> => {
    // Writing the claim may have taken long.
    if (call.signal.aborted || !hasTimeToSend(call)) throw await record.recordNotSent(claim);
    const path = `users/${claim.userId}/balance`;
    const write = { method: 'POST', path, body: toRequestBody(claim), idempotencyKey: key } as const;
    const sendLimitMs = call.remainingMs() - call.limitMs * SHARE_TO_READ_BACK;
    const deadline = createDeadline(clock, sendLimitMs, call.sentSignal);
    const answer = await relay.send(write, deadline.signal).finally(deadline.clear);
    if (answer.kind === 'refused' && answer.status === 0) throw await record.recordNotSent(claim, 0);
    if (answer.kind === 'refused') return record.recordRefusal(claim, answer, call.sentSignal);
    const relayAnswer: RelayAnswer =
      answer.kind === 'accepted'
        ? { ...NO_RELAY_ANSWER, isAccepted: true, isRelayReplay: answer.isReplay }
        : { ...NO_RELAY_ANSWER, unknownReason: answer.reason };
    return record.recordOutcome(claim, relayAnswer, call.sentSignal);
  };

  /** The recorded outcome of this pair. Throws `idempotency-conflict` when token or key belong to another pair. */
  const recallSamePair = async ({ token, key }: PairHashes, call: CallDeadline): Promise<RechargeResult> => {
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
      // Another process may have sent this pair first: then its credit is what failed the check here.
      await journal.refresh();
      if (!isOnRecord(hashes)) throw error;
    });
    if (admitted === undefined) return recallSamePair(hashes, call);
    const { draft, knownClaims, release } = admitted;
    try {
      // Before anything is sent: check that clients will accept the result.
      v.parse(RechargeResult, toRechargeResult({ ...draft, kind: 'claim', by: '' }, NO_RELAY_ANSWER, NOTHING_READ));
      const { claim, isOwn } = await journal.claim(draft);
      if (!isOwn) return await recallSamePair(hashes, call);
      if (isPrecededByOther(claim, knownClaims)) throw await record.recordNotSent(claim);
      return await sendOnce(claim, pair.key, call);
    } finally {
      release();
    }
  };

  return async (pair, call) => {
    const hashes = await hashPair(pair, digest);
    await journal.refresh().catch((error: unknown) => {
      // An outcome that is known here is returned even when the file can no longer be read.
      if (running.has(hashes.token) || isOnRecord(hashes)) return;
      // Without the file, what an earlier process did with this pair is unknown.
      const isClosed = error instanceof RelayError && error.detail.kind === 'journal-unavailable';
      throw isClosed ? new RelayError({ ...error.detail, outcome: 'unknown' }) : error;
    });
    const concurrent = running.get(hashes.token);
    // A proven outcome counts more than a call that still runs here: another process may have been faster.
    if (concurrent?.key === hashes.key && !isProven(hashes)) return { ...(await concurrent.result), replayed: true };
    if (isOnRecord(hashes)) return recallSamePair(hashes, call);
    if (concurrent !== undefined)
      throw new RelayError({ kind: 'idempotency-conflict', why: 'token-used', reference: hashes.marker });
    const result = start(pair, hashes, call);
    running.set(hashes.token, { key: hashes.key, result });
    return result.finally(() => running.delete(hashes.token));
  };
};
