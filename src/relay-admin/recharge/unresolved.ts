import type { Clock } from '../../core/clock.ts';
import { RelayError } from '../errors/errors.ts';
import { formatUnits } from '../money.ts';
import type { RelayClient } from '../relay/client.ts';
import { findCredits } from '../relay/history.ts';
import type { User } from '../relay/users.ts';
import { findBalanceChange } from './balance-evidence.ts';
import type { Journal, RecordedRecharge } from './journal.ts';

/** What shows that an unverified recharge was credited. */
export const CREDIT_SIGNS = ['relay_said_so', 'history_row', 'balance_rose'] as const;
type CreditSign = (typeof CREDIT_SIGNS)[number];

/** An earlier recharge of a user that was not verified. */
export type UnresolvedRecharge = {
  readonly reference: string;
  readonly amount: string;
  readonly sentAt: string;
  readonly balanceBefore: string;
  /** How the balance changed afterwards, as far as the next recharge of the user. */
  readonly balanceChange: string;
  /** What shows that it was credited. `null` does not show that it was not: a credit can come late, and without a row. */
  readonly creditSign: CreditSign | null;
};

type UnresolvedNeeds = {
  readonly relay: RelayClient;
  readonly journal: Pick<Journal, 'unresolvedOf' | 'rechargesOf'>;
  readonly clock: Clock;
};

/** A relay that still works on a recharge after the caller has disconnected has mostly finished it by then. */
const SETTLES_WITHIN_MS = 120_000;
const REMEMBERED_MS = 7 * 24 * 3_600_000;
const SHOWN_LIMIT = 5;

const rememberedOf = ({ journal, clock }: Omit<UnresolvedNeeds, 'relay'>, userId: number) =>
  journal.unresolvedOf(userId).filter(({ claim }) => claim.at > clock.now() - REMEMBERED_MS);

/**
 * The latest recharges of a user that were not verified. Throws `unresolved-recharge` when one is so recent that it may
 * still appear in the history: another recharge now could credit twice.
 */
export const findUnresolved = async (
  needs: UnresolvedNeeds,
  { id: userId, balance: present }: Pick<User, 'id' | 'balance'>,
  signal: AbortSignal,
): Promise<readonly UnresolvedRecharge[]> => {
  const { relay, journal, clock } = needs;
  const recharges = rememberedOf(needs, userId).slice(-SHOWN_LIMIT);
  if (recharges.length === 0) return [];
  const markers = recharges.map(({ claim }) => claim.marker);
  const credits = await findCredits(relay, { userId, markers }, signal);
  const all = journal.rechargesOf(userId);
  const nextOf = ({ claim }: RecordedRecharge) => all[all.findIndex((one) => one.claim.by === claim.by) + 1]?.claim;
  return recharges.map((recharge) => {
    const { claim, settlement } = recharge;
    const { marker, amount, at, balanceBefore } = claim;
    const hasRow = (credits.get(marker) ?? []).length > 0;
    const proof = settlement?.isAccepted === true ? 'relay_said_so' : hasRow ? 'history_row' : null;
    const retryAfterMs = at + SETTLES_WITHIN_MS - clock.now();
    // A balance that rose is no proof: somebody else may have paid, and the credit may still come.
    if (proof === null && retryAfterMs > 0)
      throw new RelayError({ kind: 'unresolved-recharge', retryAfterMs, reference: marker });
    const { change, isExact } = findBalanceChange(recharge, { next: nextOf(recharge), present });
    return {
      reference: marker,
      amount,
      sentAt: new Date(at).toISOString(),
      balanceBefore,
      balanceChange: formatUnits(change),
      creditSign: proof ?? (isExact ? 'balance_rose' : null),
    };
  });
};

/**
 * The marker of the newest recharge of the user and amount that was not verified. Another one needs it as
 * `acknowledge_doubt`: most second recharges after a doubt would be second credits.
 */
export const findDoubt = (
  needs: Omit<UnresolvedNeeds, 'relay'>,
  { userId, amount }: { readonly userId: number; readonly amount: string },
): string | undefined => rememberedOf(needs, userId).findLast(({ claim }) => claim.amount === amount)?.claim.marker;
