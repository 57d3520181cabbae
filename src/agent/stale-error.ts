/** Why a store kept nothing of a commit: a session in it was changed, or removed, since it was read. Read again, it can be tried again. */
export class StaleError extends Error {
  override readonly name = 'StaleError';

  constructor() {
    super('Cannot keep a session: it is not any more as it was read');
  }
}
