import type { RelayClient, RelayQuery } from '../../../src/relay-admin/relay/client.ts';

type SeenRead = { readonly path: string; readonly query: RelayQuery; readonly signal: AbortSignal };

/** A relay that only reads: it answers as the script says and remembers what it was asked. */
export const createScriptedRelay = (
  answer: (read: SeenRead, index: number) => unknown,
): { readonly relay: RelayClient; readonly reads: readonly SeenRead[] } => {
  const reads: SeenRead[] = [];
  const unasked = async (): Promise<never> => {
    throw new TypeError('Nothing is to be sent here');
  };
  const relay: RelayClient = {
    address: { origin: 'https://relay.test', host: 'relay.test' },
    async get(path, query, signal) {
      signal.throwIfAborted();
      const read = { path, query, signal };
      reads.push(read);
      return answer(read, reads.length - 1);
    },
    send: unasked,
    health: unasked,
  };
  return { relay, reads };
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
