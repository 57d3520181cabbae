import { createDeadline } from '../core/async.ts';
import { Fault } from '../core/fault.ts';
import { HttpClientError } from '../core/http/client.ts';
import { headersFor } from './attempt.ts';
import type { Backend } from './detect.ts';
import type { BackendKey } from './key-state.ts';
import type { ModelTraits } from './types.ts';

/** The traits of a model, empty where the server tells none; undefined when it could not be asked. Never rejects. */
export type FindModelTraits = (model: string) => Promise<ModelTraits | undefined>;

type ModelTraitsNeeds = Backend & { readonly usableKey: () => BackendKey };

/** Ollama's answer holds the licence, the template and a list of tensors. */
const ANSWER_LIMIT_BYTES = 4_194_304;
const ASK_LIMIT_MS = 3000;
/** A model that is created again under the same name is known after this time. */
const LIFETIME_MS = 60_000;
/** A server that does not know the path, the method or the model tells nothing about it. */
const TELLS_NOTHING = new Set([400, 404, 405, 501]);

/** Creates a look-up of what a backend tells about its models. An answer is used for a minute, by all who ask meanwhile. */
export const createModelTraits = (needs: ModelTraitsNeeds): FindModelTraits => {
  const { baseUrl, dialect, httpClient, clock, usableKey } = needs;
  const known = new Map<string, { readonly at: number; readonly traits: Promise<ModelTraits | undefined> }>();

  const ask = async (model: string): Promise<ModelTraits | undefined> => {
    const deadline = createDeadline(clock, ASK_LIMIT_MS);
    try {
      const chatApi = await dialect.current();
      if (chatApi === undefined) return undefined;
      const { method, path, body } = chatApi.askTraits(model);
      const { status, text } = await httpClient({
        method,
        url: baseUrl + path,
        headers: headersFor(usableKey()),
        ...(body === undefined ? {} : { body }),
        signal: deadline.signal,
        limitBytes: ANSWER_LIMIT_BYTES,
      });
      if (status === 200) return chatApi.parseTraits(text, model);
      return TELLS_NOTHING.has(status) ? {} : undefined;
    } catch (error) {
      if (error instanceof Fault || error instanceof HttpClientError) return undefined;
      throw error;
    } finally {
      deadline.clear();
    }
  };

  return async (model) => {
    const last = known.get(model);
    if (last !== undefined && Math.abs(clock.now() - last.at) < LIFETIME_MS) return last.traits;
    const entry = { at: clock.now(), traits: ask(model) };
    known.set(model, entry);
    const traits = await entry.traits;
    // The next call asks the server again.
    if (traits === undefined && known.get(model) === entry) known.delete(model);
    return traits;
  };
};
