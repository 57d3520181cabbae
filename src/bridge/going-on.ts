import type { Said } from './asked.ts';
import type { Exchanged } from './conversation.ts';
import { type Kept, latest } from './conversation-record.ts';
import { readResponseID } from './response-id.ts';
import { type Digest, entriesOf, longerTail, NOTHING_SAID, type Standing, standingAfter, tailOf } from './said.ts';

/** What an exchange is added to. The last entry stands apart: if it is the user's, more of the user's words go into it. */
export type Footing = {
  readonly standing: Standing;
  readonly last: readonly Said[];
  readonly tail: readonly string[];
};

/** A history as its client tells it. */
export const footingOn = (entries: readonly Said[], digest: Digest): Footing => ({
  standing: standingAfter(NOTHING_SAID, entries.slice(0, -1), digest),
  last: entries.slice(-1),
  tail: tailOf(entries, digest),
});

/** A conversation as it is known here, for a client that does not tell what was said. */
export const footingIn = ({ said, tail }: Kept): Footing => ({ standing: said, last: [], tail });

/** Whether a history is that of a conversation, and nothing else. */
export const isHistoryOf = (kept: Kept, entries: readonly Said[], digest: Digest): boolean =>
  standingAfter(NOTHING_SAID, entries, digest).head === kept.said.head;

/**
 * Whether a client left out the beginning, or put a summary in its place. Where the beginning is the same, it is something
 * else that was taken out, and one pair that is the same can be chance: many a chat ends with thanks.
 */
const isShortened = (kept: Kept, entries: readonly Said[], digest: Digest): boolean => {
  const tail = tailOf(entries, digest);
  return (
    entries.length < kept.said.entries &&
    standingAfter(NOTHING_SAID, entries.slice(0, 1), digest).opening !== kept.said.opening &&
    tail.length === 2 &&
    tail.every((pair, place) => pair === kept.tail[place])
  );
};

type ToldAs = { readonly told: string | undefined; readonly digest: Digest };

/** Whether this is all that a client may know that left during the last answer. */
const isCutShort = ({ stoppedAt }: Kept, entries: readonly Said[], { told, digest }: ToldAs): boolean => {
  if (stoppedAt === undefined) return false;
  const { standing, last } = footingOn(entries, digest);
  const [entry] = last;
  if (entry?.role !== 'assistant') return standingAfter(standing, last, digest).head === stoppedAt;
  return standing.head === stoppedAt && told?.startsWith(entry.text) === true;
};

/**
 * Whether a history that differs from what was said is still the same conversation to a client that named this very one.
 * `told` is the last answer, where it was stopped and is still known.
 */
export const mayStandFor = (kept: Kept, entries: readonly Said[], toldAs: ToldAs): boolean =>
  isCutShort(kept, entries, toldAs) || isShortened(kept, entries, toldAs.digest);

type AddedTo = { readonly footing: Footing; readonly digest: Digest };

/** What a conversation is after an exchange. */
export const afterExchange = (kept: Kept, exchanged: Exchanged, { footing, digest }: AddedTo): Kept => {
  const { standing, last } = footing;
  const question: Said[] = [...last, { role: 'user', text: exchanged.asked }];
  const entries = entriesOf([...question, { role: 'assistant', text: exchanged.told }]);
  const beforeAnswer = standingAfter(standing, entriesOf(question), digest).head;
  const token = readResponseID(exchanged.responseID)?.token ?? '';
  return {
    ...kept,
    said: standingAfter(standing, entries, digest),
    tail: longerTail(footing.tail, tailOf(entries.slice(-2), digest)),
    stoppedAt: exchanged.isStopped ? beforeAnswer : undefined,
    exchanges: latest([...kept.exchanges, { token, promptID: exchanged.promptID ?? '' }]),
  };
};
