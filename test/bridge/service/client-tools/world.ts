import type { ModelRequest } from '../../../../src/agent/model/types.ts';
import { calling, replying, type Script } from '../../../agent/harness/world.ts';
import type { BridgeGiven, BridgeWorld } from '../../harness/world.ts';

export const weather = { name: 'weather', input: { city: 'Oslo' } };

export const clock = { name: 'clock', input: {} };

export const given = (...scripts: readonly Script[]): BridgeGiven => ({ scripts });

export const usual = given(calling(weather), replying('It rains.'));

/** The results that a model was given last, as `name: output`. */
export const resultsTo = (request: ModelRequest | undefined): readonly string[] => {
  const last = request?.messages.at(-1);
  return last?.role === 'tool' ? last.results.map(({ name, output }) => `${name}: ${String(output)}`) : [];
};

/** The calls that a model was told of in its answers, without their arguments. */
export const callsTo = (request: ModelRequest | undefined) =>
  (request?.messages ?? []).flatMap((message) =>
    message.role === 'assistant' ? message.calls.map(({ id, name }) => ({ id, name })) : [],
  );

/** Requests that begin a turn with results of calls. */
export const resultRequests = ({ calls }: BridgeWorld) =>
  calls.filter(({ method, path, body }) => {
    if (method !== 'POST' || path !== '/gatehouse/turns') return false;
    return (body as { readonly input: readonly { readonly role: string }[] }).input.some(({ role }) => role === 'tool');
  });
