import { isUnfinished, type Part } from '../protocol/types.ts';
import type { MessageQuery, MessageWithParts } from '../store/store.ts';
import { SessionTooLarge } from './errors.ts';
import {
  findNeededMessages,
  type PlannedMessage,
  type SummaryRequestKind,
  summaryRequestKind,
} from './needed-messages.ts';
import type { TurnContext } from './types.ts';

/**
 * What is left of a request while it is sent and answered: the messages, the body, which the connection keeps to the end, and a
 * body again where the request is repeated. About three times the size, and the budget counts ten.
 */
const SENT_SHARE = 0.4;
/** The messages, and their long texts as the next request has them, with what is not collected yet. */
const KEPT_SHARE = 0.3;
/** How much is read at a time, because parsing it holds the event loop. A larger message is read alone. */
const GROUP_BYTES = 512 * 1024;

/** Parts as they were when their message had this size in the store. */
type KeptParts = { readonly bytes: number; readonly parts: readonly Part[] };

/** Queries for messages that follow each other, each for about `GROUP_BYTES`. */
const queriesFor = (
  planned: readonly PlannedMessage[],
  isMissing: (message: PlannedMessage) => boolean,
): readonly MessageQuery[] => {
  const queries: MessageQuery[] = [];
  let first: string | undefined;
  let bytes = 0;
  for (const message of planned) {
    const { id } = message.info;
    if (first !== undefined && (!isMissing(message) || bytes + message.bytes > GROUP_BYTES)) {
      queries.push({ fromID: first, beforeID: id });
      first = undefined;
    }
    if (!isMissing(message)) continue;
    bytes = first === undefined ? message.bytes : bytes + message.bytes;
    first ??= id;
  }
  return first === undefined ? queries : [...queries, { fromID: first }];
};

/** The messages that the model of one turn reads. */
export type TurnMessages = {
  /**
   * Reads them once the server may hold them, and holds them until `work` has settled; `onSent` gives most of their bytes
   * back, once the model's request is on its way. Rejects with `SessionTooLarge` where they never fit, or with the signal's
   * reason.
   */
  readonly use: <Result>(
    signal: AbortSignal,
    work: (messages: readonly MessageWithParts[], onSent: () => void) => Promise<Result>,
  ) => Promise<Result>;
  /** As they are now, for the work of `use`: after a summary there are fewer. */
  readonly read: () => Promise<readonly MessageWithParts[]>;
  /** Lets go of what is kept for the next step. */
  readonly end: () => void;
};

/**
 * Keeps the messages of a session from one step of a turn to the next, as long as no one else needs the memory. Each step
 * asks the store for the sizes of all that it needs, and reads only what is new or has another size. What is complete is
 * not edited during a turn: it loses parts or goes, and then its size is another one.
 */
export const createTurnMessages = (
  { store, budget }: Pick<TurnContext, 'store' | 'budget'>,
  { sessionID, promptID }: { readonly sessionID: string; readonly promptID: string },
): TurnMessages => {
  let kept: ReadonlyMap<string, KeptParts> = new Map();
  let giveKeptBack = (): void => {};
  const forget = (): void => {
    kept = new Map();
  };
  const kinds = new Map<string, SummaryRequestKind>();
  const kindOf = async (id: string): Promise<SummaryRequestKind> => {
    if (!kinds.has(id)) kinds.set(id, summaryRequestKind(await store.message(sessionID, id)));
    return kinds.get(id);
  };
  const plan = (): Promise<readonly PlannedMessage[]> => findNeededMessages(store, { sessionID, promptID, kindOf });
  const readPlanned = async (planned: readonly PlannedMessage[]): Promise<readonly MessageWithParts[]> => {
    const partsOf = ({ info, bytes }: PlannedMessage): readonly Part[] | undefined => {
      const held = kept.get(info.id);
      return held?.bytes === bytes ? held.parts : undefined;
    };
    const found = new Map<string, MessageWithParts>();
    for (const query of queriesFor(planned, (one) => one.isNeeded && partsOf(one) === undefined))
      for (const message of await store.messages(sessionID, query)) found.set(message.info.id, message);
    const next = new Map<string, KeptParts>();
    const messages = planned.flatMap((one): readonly MessageWithParts[] => {
      const { info, bytes, isNeeded } = one;
      if (!isNeeded) return [{ info, parts: [] }];
      const parts = partsOf(one);
      const message = parts === undefined ? found.get(info.id) : { info, parts };
      if (message === undefined) return [];
      if (!isUnfinished(message.info)) next.set(info.id, { bytes, parts: message.parts });
      return [message];
    });
    kept = next;
    return messages;
  };
  return {
    async use(signal, work) {
      const planned = await plan();
      const bytes = planned.reduce((sum, one) => (one.isNeeded ? sum + one.bytes : sum), 0);
      if (bytes > budget.limitBytes) throw new SessionTooLarge(bytes, budget.limitBytes);
      // What is kept may be dropped for it, and is then read again.
      const release = await budget.take(bytes, signal);
      giveKeptBack();
      try {
        return await work(await readPlanned(planned), () => release(Math.ceil(bytes * SENT_SHARE)));
      } finally {
        release();
        const keptBytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
        const giveBack = budget.keep(Math.ceil(keptBytes * KEPT_SHARE), forget);
        if (giveBack === undefined) forget();
        giveKeptBack = giveBack ?? (() => {});
      }
    },
    read: async () => readPlanned(await plan()),
    end() {
      giveKeptBack();
      forget();
    },
  };
};
