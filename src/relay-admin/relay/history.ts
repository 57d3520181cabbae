import * as v from 'valibot';
import { redactedLine } from '../../core/text.ts';
import { type Units, unitsFromNumber } from '../money.ts';
import type { RelayClient } from './client.ts';
import { PAGE_SIZE, readPage } from './list.ts';
import { parseAnswer } from './response.ts';

/** A credit in a user's balance history that has one of our markers in its notes. */
export type CreditRow = { readonly id: number; readonly value: Units; readonly usedAt: string | null };

/** A thousand credits of one user: an older marker was searched for before. */
const PAGE_LIMIT = 10;

const Rows = v.array(
  v.object({
    id: v.pipe(v.number(), v.safeInteger()),
    type: v.string(),
    value: v.pipe(v.number(), v.finite()),
    used_at: v.nullish(v.string(), null),
    notes: v.nullish(v.string(), ''),
  }),
);

/**
 * The credits of a user by marker, newest first. The relay stores no idempotency key with a credit: only the marker in
 * its notes identifies it.
 */
export const findCredits = async (
  relay: RelayClient,
  { userId, markers }: { readonly userId: number; readonly markers: readonly string[] },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly CreditRow[]>> => {
  const path = `users/${userId}/balance-history`;
  const query = { type: 'admin_balance' };
  const found = new Map<string, CreditRow[]>(markers.map((marker) => [marker, []]));
  for (let page = 1; page <= PAGE_LIMIT; page++) {
    const { items, total } = await readPage(relay, { path, query, page }, signal);
    for (const { id, type, value, used_at, notes } of parseAnswer(Rows, items)) {
      const marker = type === 'admin_balance' ? markers.find((candidate) => notes.includes(candidate)) : undefined;
      const units = unitsFromNumber(value);
      if (marker === undefined || units === undefined) continue;
      found.get(marker)?.push({ id, value: units, usedAt: used_at === null ? null : redactedLine(used_at, 40) });
    }
    const isComplete = page * PAGE_SIZE >= total || items.length === 0;
    if (isComplete || markers.every((marker) => (found.get(marker) ?? []).length > 0)) break;
  }
  return found;
};
