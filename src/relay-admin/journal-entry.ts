import * as v from 'valibot';
import { DOUBTS } from './relay/response.ts';

const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
/** As late as a date can be written out. */
const LATEST_MS = 8.64e15;
const Time = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(LATEST_MS));

/** The secret that preview tokens of this journal are made with; the first one in the file counts. */
const Seal = v.object({ kind: v.literal('seal'), secret: v.pipe(v.string(), v.minLength(32)) });

/** Written before a recharge is sent: from then on its token and its key belong to each other for good. */
const Claim = v.object({
  kind: v.literal('claim'),
  at: Time,
  /** Who wrote it, so that of two that claim the same at once each knows whether it was first. */
  by: v.string(),
  token: Hash,
  key: Hash,
  marker: v.string(),
  userId: v.pipe(v.number(), v.safeInteger()),
  amount: v.string(),
  balanceBefore: v.string(),
});

/** What came of a claim. A later one of the same claim counts more: doubts can be cleared up. */
const Settlement = v.object({
  kind: v.literal('settlement'),
  at: Time,
  by: v.string(),
  state: v.picklist(['verified', 'accepted_unverified', 'not_applied']),
  /** Whether the relay itself said that it carried the recharge out. */
  isAccepted: v.boolean(),
  /** Why there was no clear answer. */
  doubt: v.optional(v.picklist(DOUBTS)),
  /** The status with which the relay refused it, 0 when there was no connection. */
  status: v.optional(v.number()),
  /** What the caller was told. */
  result: v.optional(v.record(v.string(), v.unknown())),
});

/** A change of another kind, for whoever reads the journal later; nothing is decided by it. */
const Note = v.object({
  kind: v.literal('note'),
  at: Time,
  tool: v.string(),
  subject: v.number(),
  change: v.record(v.string(), v.union([v.number(), v.boolean()])),
  state: v.string(),
});

const Entry = v.variant('kind', [Seal, Claim, Settlement, Note]);

export type JournalEntry = v.InferOutput<typeof Entry>;
export type ClaimEntry = v.InferOutput<typeof Claim>;
export type SettlementEntry = v.InferOutput<typeof Settlement>;
export type NoteEntry = v.InferOutput<typeof Note>;

/** The entry in a line; nothing when the line is no whole entry, as one is that a crash cut short. */
export const entryOf = (line: string): JournalEntry | undefined => {
  try {
    const parsed = v.safeParse(Entry, JSON.parse(line));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
};
