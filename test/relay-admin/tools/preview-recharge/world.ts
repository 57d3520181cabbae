import type { HttpClient } from '../../../../src/core/http/client.ts';
import { resultOf, type World } from '../../harness/world.ts';

/** Ids of users of the demo relay. */
export const [OWNER, ALICE, BOB, ERIN] = [1, 2, 3, 8];

/** What the tool answers about a recharge of this user. */
export const preview = (
  world: World,
  user_id: number,
  amount: string,
  httpClient?: (direct: HttpClient) => HttpClient,
) => resultOf(world.start(httpClient === undefined ? {} : { httpClient }), 'preview_recharge', { user_id, amount });
/** The codes of the warnings of an answer. */
export const codesOf = (result: Readonly<Record<string, unknown>>): string[] =>
  (result.warnings as { code: string }[]).map(({ code }) => code);
