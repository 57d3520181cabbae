import type { Turn } from '../protocol/turns.ts';
import { StaleTurnError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { turnRefusal } from './refusals.ts';

/** How often something is decided again because another request was faster. */
export const TRIES = 8;

/** The turn of an owner; a turnRefusal where there is none. */
export const requireTurn = async ({ turns }: Pick<Store, 'turns'>, owner: string, id: string): Promise<Turn> => {
  const turn = await turns.turn(owner, id);
  if (turn === undefined) throw turnRefusal('turn_not_found');
  return turn;
};

/** Runs `work` again when a turn or a conversation was changed meanwhile. */
export const whileStale = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StaleTurnError)) throw error;
      if (tries === TRIES) throw turnRefusal('conversation_changed');
    }
  }
};

/** Stores a turn as changed. `change` returns the same turn where there is nothing to change, and may run again. */
export const changeTurn = (
  store: Pick<Store, 'turns' | 'commit'>,
  { owner, id }: Pick<Turn, 'owner' | 'id'>,
  change: (turn: Turn) => Turn,
): Promise<Turn> =>
  whileStale(async () => {
    const before = await requireTurn(store, owner, id);
    const turn = change(before);
    if (turn !== before) await store.commit([{ kind: 'turn', turn, before }], []);
    return turn;
  });

/** With one more reader, who has come for all of it. */
export const withReader = ({ leftMs: _left, dueMs, ...turn }: Turn, reader: string): Turn => ({
  ...turn,
  readers: [...turn.readers.filter((one) => one !== reader), reader],
  // What is not stored has to go at some time.
  ...(turn.isStored || dueMs === undefined ? {} : { dueMs }),
});

/** Without anybody who comes back for it: no equal request joins it from here on. */
export const givenUp = (turn: Turn, nowMs: number): Turn => ({
  ...turn,
  leftMs: Math.min(turn.leftMs ?? nowMs, nowMs - (turn.abortAfterMs ?? 0)),
});
