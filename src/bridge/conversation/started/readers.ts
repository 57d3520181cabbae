import type { Clock } from '../../../core/clock.ts';
import { exchangeOf, isAnswered, type StoredConversation } from '../record.ts';
import type { ReadTurn, RequestMark, TurnReaders } from '../types.ts';
import type { RequestMarks } from './marks.ts';

/**
 * Makes a change of a conversation on top of what all bridges have stored; undefined changes nothing. `known`: decides by what this
 * bridge knows whether there is a change, and spares the read before the write; where another bridge was faster it decides again.
 */
export type ChangeConversation = (
  sessionID: string,
  change: (stored: StoredConversation) => StoredConversation | undefined,
  base: 'latest' | 'known',
) => Promise<StoredConversation | undefined>;

/** An id that begins with the time at which the bridge was started. */
export const createBridgeID = (nowMs: number, token: string): string => `${nowMs.toString(36)}.${token}`;
const startedMsOf = (bridgeID: string): number => Number.parseInt(bridgeID, 36);
/**
 * Whether all bridges where clients read, or the one that the last of them has left, were started before this one. Then they may
 * have been killed, this one in their place.
 */
export const areAllOlder = ({ readers = [], left }: RequestMark, bridgeID: string): boolean =>
  [...readers, ...(left === undefined ? [] : [left.by])].every((id) => startedMsOf(id) < startedMsOf(bridgeID));

type TurnReadersNeeds = {
  /** Of this bridge among all over one agent. */
  readonly bridgeID: string;
  readonly change: ChangeConversation;
  /** A conversation as this bridge knows it, without asking the agent. */
  readonly known: (sessionID: string) => StoredConversation | undefined;
  readonly marks: Pick<RequestMarks, 'ofToken' | 'times'>;
  readonly clock: Clock;
};

/**
 * Writes into the mark of a turn's request whether clients read the turn at this bridge, and reads there whether clients read it
 * at others. The bridge whose client was the last one to leave is the one that aborts the turn.
 */
export const createTurnReaders = ({ bridgeID, change, known, marks, clock }: TurnReadersNeeds) => {
  const othersIn = ({ readers = [] }: RequestMark): readonly string[] => readers.filter((id) => id !== bridgeID);

  return ({ sessionID, token, promptID }: ReadTurn): TurnReaders => {
    let last: Promise<unknown> = Promise.resolve();
    /** Changes run one after the other. Resolves to the mark after this one; undefined if it cannot be read or was replaced. */
    const changeMark = (
      create: (mark: RequestMark, stored: StoredConversation) => RequestMark | undefined,
      base: 'latest' | 'known' = 'latest',
    ): Promise<RequestMark | undefined> => {
      const changeStored = (stored: StoredConversation): StoredConversation | undefined => {
        const { request } = stored;
        const next = request?.token === token ? create(request, stored) : undefined;
        return next && { ...stored, request: promptID === undefined ? next : { ...next, promptID } };
      };
      const changed = last.then(async () => (await change(sessionID(), changeStored, base))?.request);
      last = changed.catch(() => undefined);
      return changed.then((mark) => (mark?.token === token ? mark : undefined)).catch(() => undefined);
    };
    const elsewhere: TurnReaders['elsewhere'] = () => {
      const mark = marks.ofToken(token)?.request;
      const isRead = mark !== undefined && othersIn(mark).length > 0;
      const isLeftElsewhere = mark?.left !== undefined && mark.left.by !== bridgeID;
      return { isRead, leftAtMs: isLeftElsewhere ? marks.times.leftAtOf(mark) : undefined };
    };
    return {
      join() {
        void changeMark((mark) => {
          const isKnown = mark.readers?.includes(bridgeID) === true && mark.left === undefined;
          return isKnown ? undefined : { ...mark, readers: [...othersIn(mark), bridgeID], left: undefined };
        });
      },
      async tryJoin(mayJoin, isAlone) {
        const mark = await changeMark((current) => {
          const others = isAlone && areAllOlder(current, bridgeID) ? [] : othersIn(current);
          return mayJoin(current) ? { ...current, readers: [...others, bridgeID], left: undefined } : undefined;
        });
        return mark?.left === undefined && mark?.readers?.includes(bridgeID) === true;
      },
      async leave() {
        const mark = await changeMark((before, stored) => {
          const readers = othersIn(before);
          // Of an answer that another client has had all of, none is the last.
          if (readers.length > 0 || before.isUnread === false) return { ...before, readers, left: undefined };
          // What was recorded before it has left was recorded as read.
          const isUnread = before.failedAtMs === undefined && exchangeOf(stored, before) !== undefined;
          const left = { by: bridgeID, atMs: clock.now() };
          return { ...before, readers, left, ...(isUnread ? { isUnread } : {}) };
        });
        return mark === undefined ? !elsewhere().isRead : othersIn(mark).length === 0;
      },
      async isAbandoned() {
        const mark = await changeMark(() => undefined);
        if (mark === undefined) return !elsewhere().isRead;
        return othersIn(mark).length === 0 && (mark.left?.by ?? bridgeID) === bridgeID;
      },
      finish() {
        const toRead = (mark: RequestMark, stored: StoredConversation): RequestMark | undefined =>
          isAnswered(stored, mark) ? undefined : { ...mark, isUnread: false };
        const write = (): unknown => {
          const stored = known(sessionID());
          return (
            stored?.request?.token === token &&
            toRead(stored.request, stored) !== undefined &&
            changeMark(toRead, 'known')
          );
        };
        void last.then(write);
      },
      elsewhere,
    };
  };
};
