/** Why a store kept nothing of a commit: it was made under a lease that is not held any more, and somebody else has the session. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('Another server has taken over the session');
  }
}
