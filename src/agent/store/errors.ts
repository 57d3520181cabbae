/** A commit was not stored: a session in it was changed or removed since it was read. Read it again and retry. */
export class StaleSessionError extends Error {
  override readonly name = 'StaleError';

  constructor() {
    super('Cannot store the session: it was changed or removed since it was read');
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

/** The store cannot be reached at the moment. The call may be repeated later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailable';

  constructor() {
    super('The store cannot be reached');
  }
}

/** Whether the store did not work, rather than what it was asked for being wrong. */
export const isStoreFailure = (error: unknown): boolean => error instanceof StoreUnavailableError;

/** A commit was not stored: its lease is not held any more, because another server has taken over the session. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('Another server has taken over the session');
  }
}
