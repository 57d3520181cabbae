/** A commit was not stored: a session in it was changed or removed since it was read. Read it again and retry. */
export class StaleSessionError extends Error {
  override readonly name = 'StaleSessionError';

  constructor() {
    super('Cannot store the session: it was changed or removed since it was read');
  }
}

/**
 * A commit was not stored: a turn or a conversation in it was changed, removed or made by another request since it was
 * read. Read them again and decide again.
 */
export class StaleTurnError extends Error {
  override readonly name = 'StaleTurnError';

  constructor() {
    super('Cannot store the turn: it, its key or its conversation was changed since it was read');
  }
}

const REASONS = {
  session: 'another one has this id',
  message: 'its session is not there, or another one has this id',
  part: 'its message is not there, or another one has this id',
  output: 'its part is not there, or another one has this id',
} as const;

/**
 * A commit was not stored: something in it belongs to what is not there (any more), or its id is taken by something that
 * belongs elsewhere.
 */
export class OrphanError extends Error {
  override readonly name = 'OrphanError';
  readonly kind: keyof typeof REASONS;

  constructor(kind: keyof typeof REASONS) {
    super(`Cannot store the ${kind}: ${REASONS[kind]}`);
    this.kind = kind;
  }
}

/** Why a store does not work, in words for operators and clients. They hold no path and no host. */
export const STORE_TROUBLES = {
  unreachable: 'The store cannot be reached',
  unanswered: 'The store did not answer, and may have stored what was sent',
  locked: 'Another process holds the store locked',
  'disk-full': 'The disk of the store is full',
  'disk-failing': 'The disk of the store cannot be read or written',
  damaged: 'The database of the store is damaged',
} as const;

/** What is wrong with a store that does not work. */
export type StoreTrouble = keyof typeof STORE_TROUBLES;

/**
 * The store does not work at the moment. A commit was not stored, and may be repeated later, unless the trouble is `unanswered`: then it
 * may have been. `mayHaveRun`: of a single try.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailable';
  readonly trouble: StoreTrouble;
  readonly mayHaveRun: boolean;

  constructor(trouble: StoreTrouble = 'unreachable', mayHaveRun = false) {
    super(STORE_TROUBLES[trouble]);
    this.trouble = trouble;
    this.mayHaveRun = mayHaveRun;
  }
}

/** Whether the store did not work, rather than what it was asked for being wrong. */
export const isStoreFailure = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError;

/** A commit was not stored: its lease is not held any more, because another server has taken over the session. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('Another server has taken over the session');
  }
}
