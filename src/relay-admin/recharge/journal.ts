import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';
import type { ChangeNotes } from '../change/change.ts';
import { RelayError } from '../errors/errors.ts';
import { UNKNOWN_REASONS } from '../relay/response.ts';

const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
/** The latest time that a `Date` can express. */
const LATEST_MS = 8.64e15;
const Time = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(LATEST_MS));

/** The secret that signs the preview tokens of this journal. The first one in the file counts. */
const Seal = v.object({ kind: v.literal('seal'), secret: v.pipe(v.string(), v.minLength(32)) });

/** Written before a recharge is sent. From then on its token and its key belong together for good. */
const Claim = v.object({
  kind: v.literal('claim'),
  at: Time,
  /** The id of this claim, so that of two concurrent writers each knows whether its claim is the first. */
  by: v.string(),
  token: Hash,
  key: Hash,
  marker: v.string(),
  userId: v.pipe(v.number(), v.safeInteger()),
  amount: v.string(),
  balanceBefore: v.string(),
  /** The marker of an earlier recharge of the same user and amount in doubt, which the caller has named. */
  acknowledgedDoubt: v.optional(v.string()),
});

/** The outcome of a claim. `accepted_unverified` can be replaced by a later settlement of the same claim. */
const Settlement = v.object({
  kind: v.literal('settlement'),
  at: Time,
  by: v.string(),
  state: v.picklist(['verified', 'accepted_unverified', 'not_applied']),
  /** Whether the relay itself answered that it carried out the recharge. */
  isAccepted: v.boolean(),
  /** Why the answer left the outcome unknown. */
  doubt: v.optional(v.picklist([...UNKNOWN_REASONS, 'refused'])),
  /** The status of the relay's refusal; 0 when there was no connection. */
  status: v.optional(v.number()),
  /** The result that the caller got. */
  result: v.optional(v.record(v.string(), v.unknown())),
});

/** A change of another kind, for people who read the journal. Nothing is decided by it. */
const Note = v.object({
  kind: v.literal('note'),
  at: Time,
  tool: v.string(),
  subject: v.number(),
  change: v.record(v.string(), v.union([v.number(), v.boolean()])),
  state: v.string(),
});

const Entry = v.variant('kind', [Seal, Claim, Settlement, Note]);

type JournalEntry = v.InferOutput<typeof Entry>;
export type ClaimEntry = v.InferOutput<typeof Claim>;
export type SettlementEntry = v.InferOutput<typeof Settlement>;

/** The entry of a line; `undefined` when it is not a whole entry, for example because a crash cut it short. */
const parseEntry = (line: string): JournalEntry | undefined => parseJson(Entry, line);

/**
 * An append-only file that outlives the process and may be shared with other processes. All readers see its lines in the
 * same order: the journal decides by this order.
 */
export type JournalFile = {
  /** Appends one line as a whole. Resolves once the line would survive a power cut. */
  readonly append: (line: string) => Promise<void>;
  /** The whole lines that any process has added since the last call. */
  readonly readNew: () => Promise<readonly string[]>;
};

/** A recharge that was sent, or was about to be sent, with its outcome as far as it is known. */
export type RecordedRecharge = { readonly claim: ClaimEntry; readonly settlement: SettlementEntry | undefined };

/** The claim that counts for a token or a key: the first in the file, which may be another process's. */
type ClaimResult = { readonly claim: ClaimEntry; readonly isOwn: boolean };

/** The record of recharges: it survives restarts and is shared by processes that use the same file. */
export type Journal = ChangeNotes & {
  /** The secret that signs this journal's preview tokens, created at first use. */
  readonly tokenSecret: () => Promise<string>;
  /** Reads what other processes have added. Throws `journal-unavailable`, as every method that uses the file does. */
  readonly refresh: () => Promise<void>;
  readonly findByToken: (tokenHash: string) => RecordedRecharge | undefined;
  readonly findByKey: (keyHash: string) => RecordedRecharge | undefined;
  /** Every recharge of a user, in the order of the file. */
  readonly rechargesOf: (userId: number) => readonly RecordedRecharge[];
  /** Recharges of a user that were not verified, oldest first. */
  readonly unresolvedOf: (userId: number) => readonly RecordedRecharge[];
  /** Writes a claim and returns the one that counts. Only the process that wrote that one may send. */
  readonly claim: (claim: Omit<ClaimEntry, 'kind' | 'by'>) => Promise<ClaimResult>;
  /** Writes the outcome of a claim. In this process it counts even when the write fails. */
  readonly settle: (settlement: Omit<SettlementEntry, 'kind'>) => Promise<void>;
};

/** An index of the entries in file order. Only the first claim of a token or a key counts. */
const createIndex = () => {
  const claims = new Map<string, ClaimEntry>();
  const tokens = new Map<string, ClaimEntry>();
  const keys = new Map<string, ClaimEntry>();
  const settlements = new Map<string, SettlementEntry>();
  let secret: string | undefined;
  const add = (entry: JournalEntry): void => {
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
    add,
    secret: () => secret,
    byToken: (hash: string) => recorded(tokens.get(hash)),
    byKey: (hash: string) => recorded(keys.get(hash)),
    claimsOf,
    unresolvedOf: (userId: number) => claimsOf(userId).filter(({ settlement }) => isUnresolved(settlement)),
  };
};

/** A proven outcome stays. Of two unverified ones the later counts, and a confirmation by the relay is never lost. */
const mergeSettlements = (known: SettlementEntry | undefined, entry: SettlementEntry): SettlementEntry => {
  if (known === undefined) return entry;
  return known.state === 'accepted_unverified' ? { ...entry, isAccepted: entry.isAccepted || known.isAccepted } : known;
};

const isUnresolved = (settlement: SettlementEntry | undefined): boolean =>
  settlement === undefined || settlement.state === 'accepted_unverified';

/** The system's error code, such as ENOSPC: it holds no path and no other text. */
const systemErrorCode = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no code';
};

/** A journal over a file. It reads nothing before its first use. */
export const createJournal = (file: JournalFile, newId: () => string): Journal => {
  const index = createIndex();
  let last: Promise<unknown> = Promise.resolve();
  /** Runs one operation at a time, so that lines are read in the order of the file. */
  const serialize = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done.catch((error: unknown) => {
      throw new RelayError({ kind: 'journal-unavailable', why: systemErrorCode(error) });
    });
  };
  const readNew = async (): Promise<void> => {
    for (const line of await file.readNew()) {
      const entry = parseEntry(line);
      // An incomplete line never reached the disk as a whole, so nothing was sent after it.
      if (entry !== undefined) index.add(entry);
    }
  };
  const write = async (entry: JournalEntry): Promise<void> => {
    await file.append(JSON.stringify(entry));
    await readNew();
  };
  return {
    refresh: () => serialize(readNew),
    tokenSecret: () =>
      serialize(async () => {
        await readNew();
        if (index.secret() === undefined) await write({ kind: 'seal', secret: `${newId()}${newId()}` });
        const secret = index.secret();
        if (secret === undefined) throw new Error('The journal does not hold what was written to it');
        return secret;
      }),
    findByToken: index.byToken,
    findByKey: index.byKey,
    rechargesOf: index.claimsOf,
    unresolvedOf: index.unresolvedOf,
    claim: (claim) =>
      serialize(async () => {
        const by = newId();
        await write({ ...claim, kind: 'claim', by });
        const counting = index.byToken(claim.token) ?? index.byKey(claim.key);
        if (counting === undefined) throw new Error('The journal does not hold what was written to it');
        return { claim: counting.claim, isOwn: counting.claim.by === by };
      }),
    settle: (settlement) => {
      const entry = { ...settlement, kind: 'settlement' } as const;
      return serialize(() =>
        write(entry).catch((error: unknown) => {
          // Only after the disk has refused it: before that, no caller may get an outcome that a restart could lose.
          index.add(entry);
          throw error;
        }),
      );
    },
    note: (note) => serialize(() => write({ ...note, kind: 'note' })),
  };
};
