import type { ChatModel, ModelRequest } from './types.ts';

type CountedModel = {
  readonly model: ChatModel;
  /** How often the last request was sent: one that is tried again is the same object. */
  readonly attempts: () => number;
};

/** A model that counts its attempts. Meant for one turn, which makes one request at a time. */
export const countAttempts = (model: ChatModel): CountedModel => {
  // A request holds all messages of a session, which must not be kept while tools run.
  const counts = new WeakMap<ModelRequest, number>();
  let count = 0;
  return {
    model(request, ...more) {
      count = (counts.get(request) ?? 0) + 1;
      counts.set(request, count);
      return model(request, ...more);
    },
    attempts: () => count,
  };
};
