import { createBegin } from './begin.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import type { TurnNeeds } from './new-turn.ts';
import { createSessionEvents, type FollowSession } from './output/session-events.ts';

/** What turns keep in the memory of this server. */
export type Turns = {
  readonly begin: ReturnType<typeof createBegin>;
  readonly leaving: Leaving;
  readonly followSession: FollowSession;
};

/** The turns of this server. */
export const createTurns = (needs: TurnNeeds): Turns => ({
  begin: createBegin(needs),
  leaving: createLeaving(needs),
  followSession: createSessionEvents(needs.publisher),
});
