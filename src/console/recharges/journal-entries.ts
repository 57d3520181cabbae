import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';

const Time = v.pipe(v.number(), v.minValue(0), v.maxValue(8.64e15));
const Text = v.pipe(v.string(), v.maxLength(200));

/** A recharge that was about to be sent, as docs/relay-admin.md describes the journal. Its hashes and the seal are not read. */
const ClaimRecord = v.object({
  kind: v.literal('claim'),
  at: Time,
  by: Text,
  token: Text,
  key: Text,
  marker: Text,
  userId: v.number(),
  amount: Text,
  balanceBefore: Text,
});
type ClaimRecord = v.InferOutput<typeof ClaimRecord>;

const SettlementRecord = v.object({
  kind: v.literal('settlement'),
  at: Time,
  by: Text,
  state: v.picklist(['verified', 'accepted_unverified', 'not_applied']),
  isAccepted: v.fallback(v.boolean(), false),
  doubt: v.optional(v.fallback(v.optional(Text), undefined)),
  status: v.optional(v.fallback(v.optional(v.number()), undefined)),
  isProven: v.optional(v.fallback(v.optional(v.boolean()), undefined)),
  result: v.optional(
    v.fallback(v.optional(v.object({ reason: v.nullish(Text), balance_after: v.nullish(Text) })), undefined),
  ),
});
export type SettlementRecord = v.InferOutput<typeof SettlementRecord>;

const EntryRecord = v.variant('kind', [ClaimRecord, SettlementRecord]);

/** A recharge of the journal with its outcome, as far as it is known. */
export type JournalRecharge = { readonly claim: ClaimRecord; readonly settlement: SettlementRecord | undefined };

/** A refusal by the relay proves nothing by itself: without proof its outcome is unknown. */
const asProven = (entry: SettlementRecord): SettlementRecord =>
  entry.state === 'not_applied' && (entry.status ?? 0) > 0 && entry.isProven !== true
    ? { ...entry, state: 'accepted_unverified', doubt: 'refused' }
    : entry;

/** The recharges of a journal's lines, in its order. Of a token or a key the first claim counts; of outcomes the proven one. */
export const readRecharges = (lines: readonly string[]): readonly JournalRecharge[] => {
  const claims = new Map<string, ClaimRecord>();
  const used = new Set<string>();
  const settlements = new Map<string, SettlementRecord>();
  for (const line of lines) {
    const entry = parseJson(EntryRecord, line);
    if (entry === undefined) continue;
    if (entry.kind === 'claim') {
      const [token, key] = [`token ${entry.token}`, `key ${entry.key}`];
      if (used.has(token) || used.has(key)) continue;
      used.add(token).add(key);
      claims.set(entry.by, entry);
    } else {
      const known = settlements.get(entry.by);
      if (known === undefined || known.state === 'accepted_unverified') {
        const isAccepted = entry.isAccepted || known?.isAccepted === true;
        settlements.set(entry.by, { ...asProven(entry), isAccepted });
      }
    }
  }
  return [...claims.values()].map((claim) => ({ claim, settlement: settlements.get(claim.by) }));
};
