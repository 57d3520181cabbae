import { untilAborted } from '../../../src/core/async.ts';
import type { HttpResponse } from '../../../src/core/http/client.ts';
import type { RelayClient, RelayQuery } from '../../../src/relay-admin/relay/client.ts';

export type Asked = { readonly path: string; readonly query: RelayQuery };

/** What the relay has at a path: data, an error to throw, or silence until the caller leaves. */
export type Answering = (asked: Asked, index: number) => unknown;

export const SILENCE = Symbol('silence');

const come = async <T>(value: unknown, signal: AbortSignal): Promise<T> => {
  signal.throwIfAborted();
  if (value instanceof Error) throw value;
  return untilAborted(value === SILENCE ? new Promise<T>(() => {}) : Promise.resolve(value as T), signal);
};

/** A relay without a network. It can only be read: a change that is sent fails the test. */
export const createScriptedRelay = (answering: Answering, health?: () => HttpResponse | Error | typeof SILENCE) => {
  const asked: Asked[] = [];
  const relay: RelayClient = {
    address: { origin: 'https://relay.test', host: 'relay.test' },
    async get(path, query, signal) {
      signal.throwIfAborted();
      asked.push({ path, query });
      return come(answering({ path, query }, asked.length - 1), signal);
    },
    send: () => {
      throw new Error('Sent a change');
    },
    health: (signal) => come(health?.() ?? new Error('Nobody expected this'), signal),
  };
  return { relay, asked };
};

/** A row of a balance history, as the relay has it. */
export const historyRow = (id: number, more: Readonly<Record<string, unknown>> = {}) => ({
  id,
  code: 'a-code-that-is-nobodys-business',
  type: 'admin_balance',
  value: 12.5,
  status: 'used',
  used_by: 7,
  used_at: '2026-01-01T00:00:00Z',
  created_at: '2026-01-01T00:00:00Z',
  group_id: null,
  validity_days: 0,
  notes: 'somebody else',
  ...more,
});
