import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { findCredits } from '../relay/history.ts';
import { readUser } from '../relay/users.ts';
import type { ClaimEntry, Journal, RecordedRecharge, SettlementEntry } from './journal.ts';

import { type CreditView, RechargeResult, type RelayAnswer, toRechargeResult } from './result.ts';

export type RecorderNeeds = {
  readonly relay: RelayClient;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
};

/** What came of recharges that were claimed: found out, written down, and told again. Nothing in here sends a change. */
export type OutcomeRecorder = {
  /** The result of a claim after the relay has spoken, with what its history and user record show. Never rejects. */
  readonly conclude: (claim: ClaimEntry, said: RelayAnswer, signal: AbortSignal) => Promise<RechargeResult>;
  /** Notes that nothing was credited, and with which status the relay said so; none when it was never asked. */
  readonly dismiss: (claim: ClaimEntry, status?: number) => Promise<RelayError>;
  /** What is on record of an earlier call, or what can be seen by now. Throws the problem of that call if it had one. */
  readonly recall: (recorded: RecordedRecharge, signal: AbortSignal) => Promise<RechargeResult>;
};

/** The one refusal with this status: the relay has the key with another payload. */
const KEY_CONFLICT = 409;

const toRechargeError = ({ marker }: ClaimEntry, status: number | undefined): RelayError => {
  if (status === undefined) return new RelayError({ kind: 'recharge-not-sent', reference: marker });
  if (status === KEY_CONFLICT)
    return new RelayError({ kind: 'idempotency-conflict', why: 'key-in-relay', reference: marker });
  return new RelayError({ kind: 'recharge-refused', status, reference: marker });
};

export const createOutcomeRecorder = ({ relay, journal, clock, log }: RecorderNeeds): OutcomeRecorder => {
  const look = async ({ userId, marker }: ClaimEntry, signal: AbortSignal): Promise<CreditView> => {
    const [rows, user] = await Promise.allSettled([
      findCredits(relay, { userId, markers: [marker] }, signal),
      readUser(relay, userId, signal),
    ]);
    return {
      rows: rows.status === 'fulfilled' ? rows.value.get(marker) : undefined,
      balance: user.status === 'fulfilled' ? user.value.balance : undefined,
    };
  };
  /** The money may have moved: a journal that fails now must not hide what is known. */
  const settle = async (claim: ClaimEntry, settlement: Omit<SettlementEntry, 'kind' | 'at' | 'by'>): Promise<void> => {
    const { userId: subject, amount, marker: reference, by } = claim;
    log('info', 'recharge', { tool: 'recharge', subject, amount, reference, outcome: settlement.state });
    await journal.settle({ ...settlement, at: clock.now(), by }).catch(() => {
      log('error', 'journal-not-written', { reference });
    });
  };
  const settleResult = (
    claim: ClaimEntry,
    { isAccepted, doubt }: RelayAnswer,
    result: RechargeResult,
  ): Promise<void> => {
    const told = isAccepted || doubt === 'answer-not-recorded' ? {} : { doubt };
    return settle(claim, { state: result.outcome, isAccepted, result, ...told });
  };
  return {
    async conclude(claim, said, signal) {
      const result = toRechargeResult(claim, said, await look(claim, signal));
      await settleResult(claim, said, result);
      return result;
    },
    async dismiss(claim, status) {
      await settle(claim, { state: 'not_applied', isAccepted: false, ...(status === undefined ? {} : { status }) });
      return toRechargeError(claim, status);
    },
    async recall({ claim, settlement }, signal) {
      if (settlement?.state === 'not_applied') throw toRechargeError(claim, settlement.status);
      if (settlement?.state === 'verified') {
        const recorded = v.safeParse(RechargeResult, settlement.result);
        if (recorded.success) return { ...recorded.output, replayed: true };
      }
      const { isAccepted = false, doubt = 'answer-not-recorded' } = settlement ?? {};
      const said: RelayAnswer = { isAccepted, isRelayReplay: false, doubt };
      const result = toRechargeResult(claim, said, await look(claim, signal));
      if (settlement === undefined || result.outcome === 'verified') await settleResult(claim, said, result);
      return { ...result, replayed: true };
    },
  };
};
