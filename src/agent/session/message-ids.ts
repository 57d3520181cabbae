import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { type Ids, isId } from '../protocol/ids.ts';
import { OrphanError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';

/** Creates the id of the next message of a session. */
type MessageIDs = (sessionID: string) => Promise<string>;

/**
 * Creates ids for the messages of a session. Messages are ordered by their ids, and clients choose some by their own clocks.
 * So a new id sorts after all that the session has, even when this server's clock was set back.
 */
export const createMessageIDs =
  ({ store, ids }: { readonly store: Pick<Store, 'messageOutlines'>; readonly ids: Ids }): MessageIDs =>
  async (sessionID) => {
    const [last] = await store.messageOutlines(sessionID, { limit: 1 });
    return ids('message', last?.id);
  };

const DAY_MS = 86_400_000;
/** The time in an id: steps per millisecond, and the milliseconds after which it starts again from zero. */
const PER_MILLISECOND = 0x1000;
const TURN_MS = 2 ** 48 / PER_MILLISECOND;
const TIME_DIGITS = [4, 16] as const;

const invalidMessageID = (expected: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_id', param: 'messageID', message: `messageID: expected ${expected}` });
const messageIDTaken = () => invalidMessageID('an id that is not used yet');

/** How far the time in an id is ahead of the clock, negative when behind. Both are compared modulo `TURN_MS`. */
const idAheadMs = (id: string, nowMs: number): number => {
  const idMs = Number.parseInt(id.slice(...TIME_DIGITS), 16) / PER_MILLISECOND;
  const ahead = (((idMs - nowMs) % TURN_MS) + TURN_MS) % TURN_MS;
  return ahead > TURN_MS / 2 ? ahead - TURN_MS : ahead;
};

/**
 * Checks ids that clients choose for new messages. Messages are ordered by their ids, so an id has to be newer than the
 * session's last message, and not so far ahead that later messages would sort before it.
 */
export const createClientMessageIDs = ({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'message' | 'messages'>;
  readonly clock: Pick<Clock, 'now'>;
}) => {
  const reserved = new Set<string>();
  const requireOrder = async (sessionID: string, id: string): Promise<void> => {
    if (idAheadMs(id, clock.now()) > DAY_MS)
      throw invalidMessageID('an id whose time is at most a day ahead of the clock here');
    const [last] = await store.messages(sessionID, { limit: 1 });
    if (last === undefined) return;
    const { info } = last;
    // A client that prompts while an answer is under way has not seen it: the answer's prompt counts instead.
    const isUnderWay = info.role === 'assistant' && info.time.completed === undefined;
    if (id <= (isUnderWay ? info.parentID : info.id))
      throw invalidMessageID("an id that is newer than the session's last message");
  };
  /** Runs `work` with an id that is well-formed, unused and in order; a `bad-input` fault otherwise. */
  return async <T>(sessionID: string, id: string, work: () => Promise<T>): Promise<T> => {
    if (!isId('message', id)) throw invalidMessageID('msg_, 12 hexadecimal digits and 14 letters or digits');
    if (reserved.has(id)) throw messageIDTaken();
    reserved.add(id);
    try {
      if ((await store.message(sessionID, id)) !== undefined) throw messageIDTaken();
      await requireOrder(sessionID, id);
      return await work();
    } catch (error) {
      // The session existed a moment ago, so the id is the reason: a message of another session has it.
      throw error instanceof OrphanError ? messageIDTaken() : error;
    } finally {
      reserved.delete(id);
    }
  };
};
