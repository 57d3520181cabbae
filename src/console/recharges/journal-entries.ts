import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';
import { Instant } from '../services/fitting.ts';

const Text = v.pipe(v.string(), v.maxLength(200));

/** A recharge that was about to be sent, as docs/relay-admin.md describes the journal. Its hashes and the seal are not read. */
const ClaimRecord = v.object({
  kind: v.literal('claim'),
  at: Instant,
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
  at: Instant,
  by: Text,
  state: v.picklist(['verified', 'accepted_unverified', 'not_applied']),
  isAccepted: v.fallback(v.boolean(), false),
  doubt: v.optional(v.fallback(v.optional(Text), undefined)),
  status: v.optional(v.fallback(v.optional(v.number()), undefined)),
  result: v.optional(
    v.fallback(v.optional(v.object({ reason: v.nullish(Text), balance_after: v.nullish(Text) })), undefined),
  ),
});
export type SettlementRecord = v.InferOutput<typeof SettlementRecord>;

const EntryRecord = v.variant('kind', [ClaimRecord, SettlementRecord]);

/** A recharge of the journal with its outcome, as far as it is known. */
export type JournalRecharge = { readonly claim: ClaimRecord; readonly settlement: SettlementRecord | undefined };

/** Whether it is not known if it was credited. */
export const isInDoubt = ({ settlement }: JournalRecharge): boolean =>
  settlement === undefined || settlement.state === 'accepted_unverified';

/** What is known of a journal's recharges, line by line. */
export type JournalRecharges = {
  readonly take: (line: string) => void;
  /** Forgets all lines: those of another file follow. */
  readonly restart: () => void;
  /** All in doubt and the newest others, in the journal's order. */
  readonly kept: () => readonly JournalRecharge[];
  /** How many there are, with those that are not kept. */
  readonly count: () => number;
};

/**
 * A claim that counts no more is written within moments of the first, so that only the latest tokens and keys are known: so many, and up
 * to as many before them. Where each one pushed out the oldest, a long journal would take several times as long.
 */
const USED_AT_LEAST = 50_000;

/**
 * Of a token or a key the first claim counts; of outcomes the proven one. Those that are in doubt are kept however old they are, of the
 * others the newest `limit` at least, and never many more.
 */
export const createJournalRecharges = (limit: number): JournalRecharges => {
  const recharges = new Map<string, JournalRecharge>();
  let used = new Set<string>();
  let usedBefore = new Set<string>();
  let count = 0;
  /** When so many are kept, those that are not needed are dropped. */
  let fullAt = 2 * limit;
  const drop = (): void => {
    let rest = recharges.size;
    for (const [by, recharge] of recharges) {
      if (rest > limit && !isInDoubt(recharge)) recharges.delete(by);
      rest -= 1;
    }
    fullAt = recharges.size + limit;
  };
  const claim = (entry: ClaimRecord): void => {
    const names = [`token ${entry.token}`, `key ${entry.key}`];
    if (names.some((name) => used.has(name) || usedBefore.has(name))) return;
    if (used.size >= USED_AT_LEAST) {
      usedBefore = used;
      used = new Set();
    }
    for (const name of names) used.add(name);
    count += 1;
    recharges.set(entry.by, { claim: entry, settlement: undefined });
    if (recharges.size >= fullAt) drop();
  };
  const settle = (entry: SettlementRecord): void => {
    const recharge = recharges.get(entry.by);
    if (recharge === undefined || !isInDoubt(recharge)) return;
    const isAccepted = entry.isAccepted || recharge.settlement?.isAccepted === true;
    recharges.set(entry.by, { ...recharge, settlement: { ...entry, isAccepted } });
  };
  return {
    take(line) {
      const entry = parseJson(EntryRecord, line);
      if (entry?.kind === 'claim') claim(entry);
      else if (entry !== undefined) settle(entry);
    },
    restart() {
      recharges.clear();
      used.clear();
      usedBefore.clear();
      count = 0;
      fullAt = 2 * limit;
    },
    kept: () => [...recharges.values()],
    count: () => count,
  };
};
