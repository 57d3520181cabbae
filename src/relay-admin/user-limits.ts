import * as v from 'valibot';
import { Problem } from './errors.ts';
import type { Relay } from './relay/client.ts';
import { Id, readById } from './relay/users.ts';

/** Without a default: a limit that is missing would otherwise read as 0, which is no limit at all. */
const UserLimits = v.object({
  id: Id,
  rpm_limit: v.pipe(v.number(), v.safeInteger()),
  concurrency: v.pipe(v.number(), v.safeInteger()),
});

export type UserLimits = Readonly<Record<'rpm_limit' | 'concurrency', number>>;

/** The limits of the user with this id, and of no other: an answer about somebody else is the `upstream-contract` problem. */
export const readUserLimits = async (relay: Relay, id: number, signal: AbortSignal): Promise<UserLimits> => {
  const parsed = v.safeParse(UserLimits, await readById(relay, { what: 'user', id }, signal));
  if (!parsed.success || parsed.output.id !== id)
    throw new Problem({ kind: 'upstream-contract', why: 'not-the-shape' });
  return { rpm_limit: parsed.output.rpm_limit, concurrency: parsed.output.concurrency };
};
