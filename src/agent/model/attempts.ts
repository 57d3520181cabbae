import type { ChatModel, ModelRequest } from './types.ts';

type CountedModel = {
  readonly model: ChatModel;
  /** How often the last request was sent: one that is tried again is the same object. */
  readonly attempts: () => number;
};

/** A model that counts its attempts. Meant for one turn, which makes one request at a time. */
export const countAttempts = (model: ChatModel): CountedModel => {
  let last: ModelRequest | undefined;
  let count = 0;
  return {
    model(request, signal) {
      count = request === last ? count + 1 : 1;
      last = request;
      return model(request, signal);
    },
    attempts: () => count,
  };
};
