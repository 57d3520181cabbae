import type { Answer, relayWorld } from '../caller.ts';

/** A key of idempotency. */
export const KEY = 'key-0000000000000001';
type World = ReturnType<typeof relayWorld>;

/** Status, body and headers of a reply. */
export const read = async (reply: Promise<Response>): Promise<readonly [number, Answer, Headers]> => {
  const response = await reply;
  return [response.status, await response.json().catch(() => undefined), response.headers];
};

/** Why a call was refused. */
export const reasonOf = async (reply: Promise<Response>) => {
  const [status, body, headers] = await read(reply);
  return [status, body.reason, headers.get('retry-after')];
};

/** The history of credits. */
export const rowsOf = async ({ data }: World): Promise<Answer[]> =>
  (await data('users/2/balance-history?type=admin_balance')).items;
