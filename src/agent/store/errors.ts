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
