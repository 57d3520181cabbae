import type { Clock } from '../../core/clock.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { findCredits } from '../relay/history.ts';
import type { Journal } from './journal.ts';

/** An earlier recharge of a user that was not verified. */
export type UnresolvedRecharge = {
  readonly reference: string;
  readonly amount: string;
  readonly sentAt: string;
  /** Whether the relay confirmed it, or the history shows it now. */
  readonly isCredited: boolean;
};

type UnresolvedNeeds = {
  readonly relay: RelayClient;
  readonly journal: Pick<Journal, 'unresolvedOf'>;
  readonly clock: Clock;
};

/** A relay that still works on a recharge after the caller has disconnected has finished it by then. */
const SETTLES_WITHIN_MS = 120_000;
const REMEMBERED_MS = 7 * 24 * 3_600_000;
const SHOWN_LIMIT = 5;

/**
 * The latest recharges of a user that were not verified. Throws `unresolved-recharge` when one is so recent that it may
 * still appear in the history: another recharge now could credit twice.
 */
export const findUnresolved = async (
  { relay, journal, clock }: UnresolvedNeeds,
  userId: number,
  signal: AbortSignal,
): Promise<readonly UnresolvedRecharge[]> => {
  const since = clock.now() - REMEMBERED_MS;
  const claims = journal
    .unresolvedOf(userId)
    .filter(({ claim }) => claim.at > since)
    .slice(-SHOWN_LIMIT);
  if (claims.length === 0) return [];
  const credits = await findCredits(relay, { userId, markers: claims.map(({ claim }) => claim.marker) }, signal);
  return claims.map(({ claim: { marker, amount, at }, settlement }) => {
    const isCredited = settlement?.isAccepted === true || (credits.get(marker) ?? []).length > 0;
    const retryAfterMs = at + SETTLES_WITHIN_MS - clock.now();
    if (!isCredited && retryAfterMs > 0)
      throw new RelayError({ kind: 'unresolved-recharge', retryAfterMs, reference: marker });
    return { reference: marker, amount, sentAt: new Date(at).toISOString(), isCredited };
  });
};
