import { createSemaphore, type Semaphore } from '../../../../src/core/semaphore.ts';
import { RelayError, type RelayErrorDetail } from '../../../../src/relay-admin/errors/errors.ts';
import {
  createRelayClient,
  type RelayClient,
  type RelayQuery,
  type Write,
} from '../../../../src/relay-admin/relay/client.ts';
import type { AdminKey } from '../../../../src/relay-admin/settings.ts';
import { rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { type Answer, BASE_URL, createScriptedExchange, type Script } from '../../../llm/scripted-client.ts';

export const SECRET = `admin-${'a'.repeat(64)}`;

export const ADDRESS = { origin: BASE_URL, host: 'backend.test' };

export const NEVER = new AbortController().signal;

type Changes = { readonly key?: AdminKey; readonly gate?: Semaphore };

export const relayWorld = (script: Script, { key = { kind: 'present', secret: SECRET }, gate }: Changes = {}) => {
  const clock = createFakeClock();
  const { httpClient, calls } = createScriptedExchange(script);
  const places = gate ?? createSemaphore(8, 100);
  const relay: RelayClient = createRelayClient({
    address: ADDRESS,
    key,
    httpClient,
    clock,
    gate: places,
    version: '1.2.3',
  });
  return { relay, clock, calls, gate: places };
};

export const ok = (data: unknown): Answer => ({ text: JSON.stringify({ code: 0, message: 'success', data }) });

export const get = (relay: RelayClient, path = 'users/7', query: RelayQuery = {}) => relay.get(path, query, NEVER);

const detailOf = (error: unknown): RelayErrorDetail => {
  if (error instanceof RelayError) return error.detail;
  throw error instanceof Error ? error : new Error('no problem');
};

export const problemOf = async (promise: Promise<unknown>): Promise<RelayErrorDetail> =>
  detailOf(await rejection(promise));

/** What a read comes to, with all the time it takes. */
export const afterAll = async ({ clock, relay }: ReturnType<typeof relayWorld>): Promise<RelayErrorDetail> => {
  const problem = problemOf(get(relay));
  await clock.advance(60_000);
  return problem;
};

export const WRITE: Write = {
  method: 'POST',
  path: 'users/7/balance',
  body: '{"balance":12.50}',
  idempotencyKey: 'key-1',
};
