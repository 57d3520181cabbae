import type { Publisher } from '../events/publisher.ts';
import { createFamilyDeletion } from '../session/family.ts';
import type { OutputLimits } from '../tools/output-limit.ts';
import { createBegin } from './begin.ts';
import { createTurnConversations, type TurnConversations } from './conversations.ts';
import { createImport } from './history/import.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import type { TurnNeeds } from './new-turn.ts';
import { followTurn } from './output/reader.ts';
import { createSessionEvents } from './output/session-events.ts';
import { deleteTurn, forgetTurn } from './removal.ts';

/** The turns of a server. */
export type Turns = {
  readonly begin: ReturnType<typeof createBegin>;
  readonly leaving: Leaving;
  readonly follow: (
    following: Parameters<typeof followTurn>[1],
    connection: Parameters<typeof followTurn>[2],
  ) => ReturnType<typeof followTurn>;
  readonly remove: (owner: string, id: string) => Promise<void>;
  readonly conversations: TurnConversations;
};

type AllNeeds = Omit<TurnNeeds, 'importMessages' | 'publisher'> & {
  readonly publisher: Publisher;
  readonly outputLimits: OutputLimits;
  readonly sessionLimitBytes: number;
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
};

/** The parts of turns, each with what it works with. */
export const createTurns = (needs: AllNeeds): Turns => {
  const { store, sessions, approvals, runs, clock, publisher, ending } = needs;
  const importMessages = createImport(needs);
  const removeFamily = createFamilyDeletion({ store, sessions, runs });
  const removal = { store, removeFamily };
  const followSession = createSessionEvents(publisher);
  return {
    begin: createBegin({ ...needs, importMessages }),
    leaving: createLeaving({ ...needs, forget: (turn) => forgetTurn(removal, turn) }),
    follow: (following, connection) =>
      followTurn({ store, approvals, followSession, clock, ending }, following, connection),
    remove: (owner, id) => deleteTurn(removal, owner, id),
    conversations: createTurnConversations({ ...needs, importMessages, removeFamily }),
  };
};
