import type { CallDeadline } from '../../../src/relay-admin/call-deadline.ts';
import type { RelayClient, RelayQuery } from '../../../src/relay-admin/relay/client.ts';

type Asked = { readonly path: string; readonly query: RelayQuery };

/** A relay that has the same data everywhere, and writes down what it was asked for. */
export const recordingRelay = (data: unknown): { readonly relay: RelayClient; readonly asked: Asked[] } => {
  const asked: Asked[] = [];
  const relay: RelayClient = {
    address: { origin: 'http://relay.test', host: 'relay.test' },
    async get(path, query) {
      asked.push({ path, query });
      return data;
    },
    send: () => Promise.reject(new Error('A read that sends a change')),
    health: () => Promise.reject(new Error('A read that asks for the health')),
  };
  return { relay, asked };
};

/** A call with all the time there is. */
export const patientCall = (): CallDeadline => {
  const { signal } = new AbortController();
  return { signal, sentSignal: signal, limitMs: 30_000, remainingMs: () => 30_000 };
};
