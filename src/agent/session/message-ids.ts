import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { type Ids, isId } from '../protocol/ids.ts';
import { OrphanError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';

export type MessageIDs = (sessionID: string) => Promise<string>;

/**
 * Makes ids for the messages of a session. Messages stand in the order of their ids, and clients choose some by clocks of
 * their own, so a new one sorts after all that the session has, also when the clock here was set back over a restart.
 */
export const createMessageIDs =
  ({ store, ids }: { readonly store: Pick<Store, 'messageOutlines'>; readonly ids: Ids }): MessageIDs =>
  async (sessionID) => {
    const [last] = await store.messageOutlines(sessionID, { limit: 1 });
    return ids('message', last?.id);
  };

const DAY_MS = 86_400_000;
/** Of a time in an id: milliseconds go up in steps of this, and start again from zero after this many. */
const PER_MILLISECOND = 0x1000;
const TURN_MS = 2 ** 48 / PER_MILLISECOND;
const TIME_DIGITS = [4, 16] as const;

const invalidMessageID = (expected: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_id', param: 'messageID', message: `messageID: expected ${expected}` });
const messageIDTaken = () => invalidMessageID('an id that is not used yet');

/** How far the time in an id is ahead of the clock; less than nothing is behind it. Both start again now and then. */
const idAheadMs = (id: string, nowMs: number): number => {
  const idMs = Number.parseInt(id.slice(...TIME_DIGITS), 16) / PER_MILLISECOND;
  const ahead = (((idMs - nowMs) % TURN_MS) + TURN_MS) % TURN_MS;
  return ahead > TURN_MS / 2 ? ahead - TURN_MS : ahead;
};

/**
 * Ids that clients choose for messages which are about to be stored. Messages stand in the order of their ids, so one has
 * to be newer than what the session has, and not so far ahead that those which come after it would stand before it.
 */
export const createClientMessageIDs = ({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'message' | 'messages'>;
  readonly clock: Pick<Clock, 'now'>;
}) => {
  const taking = new Set<string>();
  const refuseMisplaced = async (sessionID: string, id: string): Promise<void> => {
    if (idAheadMs(id, clock.now()) > DAY_MS)
      throw invalidMessageID('an id whose time is at most a day ahead of the clock here');
    const [last] = await store.messages(sessionID, { limit: 1 });
    if (last === undefined) return;
    const { info } = last;
    // Whoever prompts while an answer is under way has not seen it: what counts is the message that it answers.
    const isUnderWay = info.role === 'assistant' && info.time.completed === undefined;
    if (id <= (isUnderWay ? info.parentID : info.id))
      throw invalidMessageID("an id that is newer than the session's last message");
  };
  /** Works with an id that must be one, new, and in its place. */
  return async <T>(sessionID: string, id: string, work: () => Promise<T>): Promise<T> => {
    if (!isId('message', id)) throw invalidMessageID('msg_, 12 hexadecimal digits and 14 letters or digits');
    if (taking.has(id)) throw messageIDTaken();
    taking.add(id);
    try {
      if ((await store.message(sessionID, id)) !== undefined) throw messageIDTaken();
      await refuseMisplaced(sessionID, id);
      return await work();
    } catch (error) {
      // The session was there a moment ago, so it is the id: a message of another session has it.
      throw error instanceof OrphanError ? messageIDTaken() : error;
    } finally {
      taking.delete(id);
    }
  };
};
