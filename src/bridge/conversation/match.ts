import type { Said } from '../request.ts';
import {
  type Digest,
  entriesAfter,
  entriesOf,
  longerTail,
  NOTHING_SAID,
  type Standing,
  standingAfter,
  tailOf,
} from './fingerprint.ts';
import { type Kept, latest } from './record.ts';
import { readResponseID } from './response-id.ts';
import type { Exchanged } from './types.ts';

/** What an exchange is added to. The last entry stands apart: if it is the user's, more of the user's words go into it. */
export type Footing = {
  readonly standing: Standing;
  readonly last: readonly Said[];
  readonly tail: readonly string[];
};

/** What was said as its client tells it, with all that is ever asked of it: it may be long, and is gone through once. */
export type History = {
  readonly said: readonly Said[];
  readonly entries: readonly Said[];
  /** Where a conversation stands in which this was said. */
  readonly standing: Standing;
  readonly footing: Footing;
};

export const historyOf = (said: readonly Said[], digest: Digest): History => {
  const entries = entriesOf(said);
  const last = entries.slice(-1);
  const beforeLast = standingAfter(NOTHING_SAID, entries.slice(0, -1), digest);
  const footing = { standing: beforeLast, last, tail: tailOf(entries, digest) };
  return { said, entries, standing: standingAfter(beforeLast, last, digest), footing };
};

/** A conversation as it is known here, for a client that does not tell what was said. */
export const footingIn = ({ said, tail }: Kept): Footing => ({ standing: said, last: [], tail });

/** Whether a history is that of a conversation, and nothing else. */
export const isHistoryOf = (kept: Kept, { standing }: History): boolean => standing.head === kept.said.head;

/**
 * Whether a client left out the beginning, or put a summary in its place. Where the beginning is the same, it is something
 * else that was taken out, and one pair that is the same can be chance: many a chat ends with thanks.
 */
const isShortened = (kept: Kept, { standing, footing: { tail } }: History): boolean =>
  standing.entries < kept.said.entries &&
  standing.opening !== kept.said.opening &&
  tail.length === 2 &&
  tail.every((pair, place) => pair === kept.tail[place]);

/** Whether this is all that a client may know that left during the last answer. */
const isCutShort = ({ stoppedAt }: Kept, { standing, footing }: History, told: string | undefined): boolean => {
  if (stoppedAt === undefined) return false;
  const [entry] = footing.last;
  if (entry?.role !== 'assistant') return standing.head === stoppedAt;
  return footing.standing.head === stoppedAt && told?.startsWith(entry.text) === true;
};

/**
 * Whether a history that differs from what was said is still the same conversation to a client that named this very one.
 * `told` is the last answer, where it was stopped and is still known.
 */
export const mayStandFor = (kept: Kept, history: History, told: string | undefined): boolean =>
  isCutShort(kept, history, told) || isShortened(kept, history);

type AddedTo = { readonly footing: Footing; readonly digest: Digest };

/** What a conversation is after an exchange. */
export const afterExchange = (kept: Kept, exchanged: Exchanged, { footing, digest }: AddedTo): Kept => {
  const { standing, last } = footing;
  const { asked, files, told } = exchanged;
  const question = entriesAfter(last, [{ role: 'user', text: asked, files }]);
  const entries = entriesAfter(question, [{ role: 'assistant', text: told }]);
  const asAsked = standingAfter(standing, question, digest);
  const token = readResponseID(exchanged.responseID)?.token ?? '';
  return {
    ...kept,
    said: standingAfter(asAsked, entries.slice(question.length), digest),
    tail: longerTail(footing.tail, tailOf(entries.slice(-2), digest)),
    stoppedAt: exchanged.isStopped ? asAsked.head : undefined,
    exchanges: latest([...kept.exchanges, { token, promptID: exchanged.promptID ?? '' }]),
  };
};
