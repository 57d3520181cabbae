import * as v from 'valibot';
import type { ChangeNotes } from '../change/change.ts';
import { RelayError } from '../errors/errors.ts';
import { UNKNOWN_REASONS } from '../relay/response.ts';

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
  doubt: v.optional(v.picklist(UNKNOWN_REASONS)),
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
export const parseEntry = (line: string): JournalEntry | undefined => {
  try {
    const parsed = v.safeParse(Entry, JSON.parse(line));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
};

/**
 * An append-only text that outlives the process, possibly shared with others. The order of its lines is the same for
 * everyone who reads it: that is what the journal decides by.
 */
export type JournalFile = {
  /** Adds one line whole, after all that was there, and settles once it would survive a power cut. */
  readonly append: (line: string) => Promise<void>;
  /** The whole lines that were added, by anyone, since the last call. */
  readonly readNew: () => Promise<readonly string[]>;
};

/** A recharge that was sent, or was about to be, with what is known of it. */
export type RecordedRecharge = { readonly claim: ClaimEntry; readonly settlement: SettlementEntry | undefined };

/** The claim that counts for a token or a key: the first in the file, which may be somebody else's. */
export type ClaimResult = { readonly claim: ClaimEntry; readonly isOwn: boolean };

/** What is remembered of recharges across restarts, and between processes that share the file. */
export type Journal = ChangeNotes & {
  /** The secret of this journal's preview tokens, made at first use. */
  readonly tokenSecret: () => Promise<string>;
  /** Takes in what others have added. Throws the `journal-unavailable` problem, as everything here does. */
  readonly refresh: () => Promise<void>;
  readonly findByToken: (tokenHash: string) => RecordedRecharge | undefined;
  readonly findByKey: (keyHash: string) => RecordedRecharge | undefined;
  /** Every recharge of a user, in the order of the file. */
  readonly rechargesOf: (userId: number) => readonly RecordedRecharge[];
  /** Recharges of a user that were never verified, oldest first. */
  readonly unresolvedOf: (userId: number) => readonly RecordedRecharge[];
  /** Writes a claim down and answers with the one that counts. Only who wrote that one may send. */
  readonly claim: (claim: Omit<ClaimEntry, 'kind' | 'by'>) => Promise<ClaimResult>;
  /** Writes down what came of a claim. It counts in this process even when that fails. */
  readonly settle: (settlement: Omit<SettlementEntry, 'kind'>) => Promise<void>;
};

/** The records in the order of the file, in which the first claim of a token or a key is the only one. */
const createIndex = () => {
  const claims = new Map<string, ClaimEntry>();
  const tokens = new Map<string, ClaimEntry>();
  const keys = new Map<string, ClaimEntry>();
  const settlements = new Map<string, SettlementEntry>();
  let secret: string | undefined;
  const take = (entry: JournalEntry): void => {
    if (entry.kind === 'seal') secret ??= entry.secret;
    else if (entry.kind === 'settlement') settlements.set(entry.by, mergeSettlements(settlements.get(entry.by), entry));
    else if (entry.kind === 'claim' && !tokens.has(entry.token) && !keys.has(entry.key)) {
      claims.set(entry.by, entry);
      tokens.set(entry.token, entry);
      keys.set(entry.key, entry);
    }
  };
  const recorded = (claim: ClaimEntry | undefined): RecordedRecharge | undefined =>
    claim === undefined ? undefined : { claim, settlement: settlements.get(claim.by) };
  const claimsOf = (userId: number): readonly RecordedRecharge[] =>
    [...claims.values()]
      .filter((claim) => claim.userId === userId)
      .map((claim) => ({ claim, settlement: settlements.get(claim.by) }));
  return {
    take,
    secret: () => secret,
    byToken: (hash: string) => recorded(tokens.get(hash)),
    byKey: (hash: string) => recorded(keys.get(hash)),
    claimsOf,
    unresolvedOf: (userId: number) => claimsOf(userId).filter(({ settlement }) => isUnresolved(settlement)),
  };
};

/** What is proven stays; of two doubts the later counts, with what the relay had confirmed before. */
const mergeSettlements = (known: SettlementEntry | undefined, entry: SettlementEntry): SettlementEntry => {
  if (known === undefined) return entry;
  return known.state === 'accepted_unverified' ? { ...entry, isAccepted: entry.isAccepted || known.isAccepted } : known;
};

const isUnresolved = (settlement: SettlementEntry | undefined): boolean =>
  settlement === undefined || settlement.state === 'accepted_unverified';

/** The system's word for a failure, which holds no path and no text. */
const systemErrorCode = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no code';
};

/** A journal over a file. It reads nothing before it is first asked. */
export const createJournal = (file: JournalFile, newId: () => string): Journal => {
  const records = createIndex();
  let last: Promise<unknown> = Promise.resolve();
  /** One thing at a time: lines are taken in in the order in which the file has them. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done.catch((error: unknown) => {
      throw new RelayError({ kind: 'journal-unavailable', why: systemErrorCode(error) });
    });
  };
  const readNew = async (): Promise<void> => {
    for (const line of await file.readNew()) {
      const entry = parseEntry(line);
      // A line that is no whole entry was never settled on the disk, and so nothing was sent after it.
      if (entry !== undefined) records.take(entry);
    }
  };
  const write = async (entry: JournalEntry): Promise<void> => {
    await file.append(JSON.stringify(entry));
    await readNew();
  };
  return {
    refresh: () => inOrder(readNew),
    tokenSecret: () =>
      inOrder(async () => {
        await readNew();
        if (records.secret() === undefined) await write({ kind: 'seal', secret: `${newId()}${newId()}` });
        const secret = records.secret();
        if (secret === undefined) throw new Error('The journal does not hold what was written to it');
        return secret;
      }),
    findByToken: records.byToken,
    findByKey: records.byKey,
    rechargesOf: records.claimsOf,
    unresolvedOf: records.unresolvedOf,
    claim: (claim) =>
      inOrder(async () => {
        const by = newId();
        await write({ ...claim, kind: 'claim', by });
        const counting = records.byToken(claim.token) ?? records.byKey(claim.key);
        if (counting === undefined) throw new Error('The journal does not hold what was written to it');
        return { claim: counting.claim, isOwn: counting.claim.by === by };
      }),
    settle: (settlement) => {
      const entry = { ...settlement, kind: 'settlement' } as const;
      return inOrder(() =>
        write(entry).catch((error: unknown) => {
          // Not before the disk has refused it: until then nobody may be told what a restart could forget.
          records.take(entry);
          throw error;
        }),
      );
    },
    note: (note) => inOrder(() => write({ ...note, kind: 'note' })),
  };
};
