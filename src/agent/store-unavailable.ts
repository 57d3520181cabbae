/** The store cannot be reached at the moment. What was asked of it may be asked again. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';

  constructor() {
    super('The store cannot be reached');
  }
}
