import type { Message } from '../protocol/types.ts';
import type { MessageHead, MessageWithParts, Store } from '../store/store.ts';

/** A message of a session, and whether its model reads its parts: without that it is there only for its place. */
export type PlannedMessage = MessageHead & { readonly isNeeded: boolean };

/** How many messages without parts are read at a time: some half a kilobyte each. */
const PAGE = 256;

/** The messages of a session, newest first, read as far back as somebody looks. */
const createLookBack = (store: Pick<Store, 'messageHeads'>, sessionID: string) => {
  const newest: MessageHead[] = [];
  let isAll = false;
  return {
    newest,
    /** The place of the first message that fits, from place `from` on backwards; the number of all messages where none does. */
    async find(fits: (info: Message) => boolean, from = 0): Promise<number> {
      for (let at = from; ; at++) {
        if (at >= newest.length && !isAll) {
          const beforeID = newest.at(-1)?.info.id;
          const older = { limit: PAGE, ...(beforeID === undefined ? {} : { beforeID }) };
          const page = await store.messageHeads(sessionID, older);
          isAll = page.length < PAGE;
          newest.push(...page.toReversed());
        }
        const head = newest[at];
        if (head === undefined) return newest.length;
        if (fits(head.info)) return at;
      }
    },
  };
};

/** How a prompt asks for a summary; undefined for one that asks for an answer. It never changes. */
export type SummaryRequestKind = 'automatic' | 'requested' | undefined;

/** Whether a stored prompt asks for a summary. */
export const summaryRequestKind = (message: Pick<MessageWithParts, 'parts'> | undefined): SummaryRequestKind => {
  const part = message?.parts.find(({ type }) => type === 'compaction');
  if (part?.type !== 'compaction') return undefined;
  return part.auto ? 'automatic' : 'requested';
};

type NeededFor = {
  readonly sessionID: string;
  readonly promptID: string;
  readonly kindOf: (promptID: string) => Promise<SummaryRequestKind>;
};

/**
 * The newest messages of a session, oldest first, as far back as a model needs them to answer the prompt `promptID`:
 * `toModelHistory` makes of them what it would make of the whole session. What a summary has replaced is not needed.
 */
export const findNeededMessages = async (
  store: Pick<Store, 'messageHeads'>,
  { sessionID, promptID, kindOf }: NeededFor,
): Promise<readonly PlannedMessage[]> => {
  const { newest, find } = createLookBack(store, sessionID);
  const placeOf = (id: string): Promise<number> => find((info) => info.id === id);
  const summaryAt = await find((info) => info.role === 'assistant' && info.summary === true);
  const summary = newest[summaryAt]?.info;
  if (summary?.role !== 'assistant') return newest.map((head) => ({ ...head, isNeeded: true })).reverse();
  /** The prompt, and those that ask for summaries: without them, no one knows which answers are summaries. */
  const prompts = new Set([promptID]);
  const planSince = async (lastCoveredPromptAt: number, begunAt: number): Promise<readonly PlannedMessage[]> => {
    const since = new Set(newest.slice(0, summaryAt).map(({ info }) => info.id));
    for (const { info } of newest.slice(0, summaryAt))
      if (info.role === 'assistant' && !since.has(info.parentID) && (await kindOf(info.parentID)) !== undefined)
        prompts.add(info.parentID);
    for (const id of prompts) await placeOf(id);
    return newest
      .map((head, at): PlannedMessage => {
        const { id, role } = head.info;
        const isPrompt = prompts.has(id) || (role === 'user' && at < lastCoveredPromptAt);
        return { ...head, isNeeded: at <= summaryAt || at === begunAt || isPrompt };
      })
      .reverse();
  };
  if ((await kindOf(summary.parentID)) === 'requested') {
    prompts.add(summary.parentID);
    return planSince(await placeOf(summary.parentID), summaryAt);
  }
  // The answer that was being written when the summary was made is not in it, and the prompt that it answers is.
  for (let begunAt = summaryAt; ; ) {
    begunAt = await find((info) => info.role === 'assistant' && info.summary !== true, begunAt + 1);
    const begun = newest[begunAt]?.info;
    if (begun?.role !== 'assistant') return planSince(newest.length, begunAt);
    if ((await kindOf(begun.parentID)) === undefined) return planSince(await placeOf(begun.parentID), begunAt);
    prompts.add(begun.parentID);
  }
};
