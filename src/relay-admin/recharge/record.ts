import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { findCredits } from '../relay/history.ts';
import type { WriteAnswer } from '../relay/response.ts';
import { readUser } from '../relay/users.ts';
import { isUnrisen } from './balance-evidence.ts';
import type { ClaimEntry, Journal, RecordedRecharge, SettlementEntry } from './journal.ts';

import { type CreditView, RechargeResult, type RelayAnswer, toRechargeResult } from './result.ts';

export type RecorderNeeds = {
  readonly relay: RelayClient;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
};

type Refusal = Extract<WriteAnswer, { kind: 'refused' }>;

/** Finds out, records and repeats the outcomes of claimed recharges. It sends no change. */
type OutcomeRecorder = {
  /** The result of a claim from the relay's answer, its balance history and its user record. Never rejects. */
  readonly recordOutcome: (claim: ClaimEntry, answer: RelayAnswer, signal: AbortSignal) => Promise<RechargeResult>;
  /** Records that nothing was credited because nothing was sent. Status 0: there was no connection. */
  readonly recordNotSent: (claim: ClaimEntry, status?: 0) => Promise<RelayError>;
  /**
   * Records a refusal of the relay. Throws it when it came before the handler, and history and balance, both read after it,
   * show no credit. Otherwise the result: the relay credits without a row, and usage can hide the rise.
   */
  readonly recordRefusal: (claim: ClaimEntry, refusal: Refusal, signal: AbortSignal) => Promise<RechargeResult>;
  /**
   * The recorded result of an earlier call, or what the relay shows now. Throws the error of that call if it had one. It never
   * finds that nothing was credited: by now usage may have hidden the rise.
   */
  readonly recall: (recorded: RecordedRecharge, signal: AbortSignal) => Promise<RechargeResult>;
};

/** Only one refusal has this status: the relay knows the key with another payload. */
const KEY_CONFLICT = 409;

const toRechargeError = ({ marker }: ClaimEntry, status: number | undefined): RelayError => {
  if (status === undefined) return new RelayError({ kind: 'recharge-not-sent', reference: marker });
  if (status === KEY_CONFLICT)
    return new RelayError({ kind: 'idempotency-conflict', why: 'key-in-relay', reference: marker });
  return new RelayError({ kind: 'recharge-refused', status, reference: marker });
};

const toRefusedAnswer = (refusedStatus: number): RelayAnswer => ({
  isAccepted: false,
  isRelayReplay: false,
  unknownReason: 'refused',
  refusedStatus,
});

export const createOutcomeRecorder = ({ relay, journal, clock, log }: RecorderNeeds): OutcomeRecorder => {
  const readBack = async ({ userId, marker }: ClaimEntry, signal: AbortSignal): Promise<CreditView> => {
    const [rows, user] = await Promise.allSettled([
      findCredits(relay, { userId, markers: [marker] }, signal),
      readUser(relay, userId, signal),
    ]);
    return {
      rows: rows.status === 'fulfilled' ? rows.value.get(marker) : undefined,
      balance: user.status === 'fulfilled' ? user.value.balance : undefined,
    };
  };
  /** The money may have moved, so a journal that fails now must not hide the outcome. */
  const settle = async (claim: ClaimEntry, settlement: Omit<SettlementEntry, 'kind' | 'at' | 'by'>): Promise<void> => {
    const { userId: subject, amount, marker: reference, by } = claim;
    const level = settlement.state === 'accepted_unverified' ? 'warn' : 'info';
    log(level, 'recharge', { tool: 'recharge', subject, amount, reference, outcome: settlement.state });
    await journal.settle({ ...settlement, at: clock.now(), by }).catch(() => {
      log('error', 'journal-not-written', { reference });
    });
  };
  const settleResult = (
    claim: ClaimEntry,
    { isAccepted, unknownReason, refusedStatus: status }: RelayAnswer,
    result: RechargeResult,
  ): Promise<void> => {
    const doubt = isAccepted || unknownReason === 'answer-not-recorded' ? {} : { doubt: unknownReason };
    return settle(claim, {
      state: result.outcome,
      isAccepted,
      result,
      ...doubt,
      ...(status === undefined ? {} : { status }),
    });
  };
  return {
    async recordOutcome(claim, answer, signal) {
      const result = toRechargeResult(claim, answer, await readBack(claim, signal));
      await settleResult(claim, answer, result);
      return result;
    },
    async recordNotSent(claim, status) {
      await settle(claim, { state: 'not_applied', isAccepted: false, ...(status === undefined ? {} : { status }) });
      return toRechargeError(claim, status);
    },
    async recordRefusal(claim, { status, isBeforeHandler }, signal) {
      const answer = toRefusedAnswer(status);
      const view = await readBack(claim, signal);
      if (isBeforeHandler && view.rows?.length === 0 && isUnrisen(claim, view.balance)) {
        await settle(claim, { state: 'not_applied', isAccepted: false, status });
        throw toRechargeError(claim, status);
      }
      const result = toRechargeResult(claim, answer, view);
      await settleResult(claim, answer, result);
      return result;
    },
    async recall({ claim, settlement }, signal) {
      if (settlement?.state === 'not_applied') throw toRechargeError(claim, settlement.status);
      if (settlement?.state === 'verified') {
        const recorded = v.safeParse(RechargeResult, settlement.result);
        if (recorded.success) return { ...recorded.output, replayed: true };
      }
      const { isAccepted = false, doubt: unknownReason = 'answer-not-recorded', status } = settlement ?? {};
      const answer: RelayAnswer = { isAccepted, isRelayReplay: false, unknownReason, refusedStatus: status };
      const result = toRechargeResult(claim, answer, await readBack(claim, signal));
      if (settlement === undefined || result.outcome === 'verified') await settleResult(claim, answer, result);
      return { ...result, replayed: true };
    },
  };
};
