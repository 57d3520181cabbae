/** Why a store kept nothing of a commit: a session in it was changed, or removed, since it was read. Read again, it can be tried again. */
export class StaleSessionError extends Error {
  override readonly name = 'StaleError';

  constructor() {
    super('Cannot keep a session: it is not any more as it was read');
  }
}

const REASONS = {
  session: 'another one has this id',
  message: 'its session is not there, or another one has this id',
  part: 'its message is not there, or another one has this id',
  output: 'its part is not there, or another one has this id',
} as const;

/**
 * Why a store kept nothing of a commit: something in it belongs to what is not there (any more), or its id is taken by
 * something that belongs elsewhere.
 */
export class OrphanError extends Error {
  override readonly name = 'OrphanError';
  readonly kind: keyof typeof REASONS;

  constructor(kind: keyof typeof REASONS) {
    super(`Cannot keep a ${kind}: ${REASONS[kind]}`);
    this.kind = kind;
  }
}

/** The store cannot be reached at the moment. What was asked of it may be asked again. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailable';

  constructor() {
    super('The store cannot be reached');
  }
}

/** Why a store kept nothing of a commit: it was made under a lease that is not held any more, and somebody else has the session. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('Another server has taken over the session');
  }
}
