const OWNERS = { message: 'session', part: 'message', output: 'part' } as const;

/**
 * Why a store kept nothing of a commit: something in it belongs to what is not there (any more), or its id is taken by
 * something that belongs elsewhere.
 */
export class OrphanError extends Error {
  override readonly name = 'OrphanError';
  readonly kind: keyof typeof OWNERS;

  constructor(kind: keyof typeof OWNERS) {
    super(`Cannot keep a ${kind}: its ${OWNERS[kind]} is not there, or another one has this id`);
    this.kind = kind;
  }
}
