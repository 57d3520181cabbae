import type { Publisher } from '../events/publisher.ts';
import { createFamilyDeletion } from '../session/family.ts';
import type { OutputLimits } from '../tools/output-limit.ts';
import { createBegin, type TurnNeeds } from './begin.ts';
import { createImport, type ImportMessages } from './import.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import { followTurn } from './reader.ts';
import { deleteTurn, forgetTurn } from './removal.ts';
import { createSessionEvents } from './session-events.ts';

/** The turns of a server. */
export type Turns = {
  readonly begin: ReturnType<typeof createBegin>;
  readonly leaving: Leaving;
  readonly follow: (
    following: Parameters<typeof followTurn>[1],
    connection: Parameters<typeof followTurn>[2],
  ) => ReturnType<typeof followTurn>;
  readonly remove: (owner: string, id: string) => Promise<void>;
  readonly importMessages: ImportMessages;
};

type AllNeeds = Omit<TurnNeeds, 'importMessages' | 'publisher'> & {
  readonly publisher: Publisher;
  readonly outputLimits: OutputLimits;
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
};

/** The parts of turns, each with what it works with. */
export const createTurns = (needs: AllNeeds): Turns => {
  const { store, sessions, approvals, runs, clock, publisher, ending, onBug } = needs;
  const importMessages = createImport(needs);
  const removeFamily = createFamilyDeletion({ store, sessions, runs });
  const removal = { store, removeFamily };
  const followSession = createSessionEvents(publisher);
  return {
    begin: createBegin({ ...needs, importMessages }),
    leaving: createLeaving({ store, approvals, runs, forget: (turn) => forgetTurn(removal, turn), clock, onBug }),
    follow: (following, connection) =>
      followTurn({ store, approvals, followSession, clock, ending }, following, connection),
    remove: (owner, id) => deleteTurn(removal, owner, id),
    importMessages,
  };
};
