import type { Chain } from '../../../core/http/history-digests.ts';
import type { ChainEnd } from '../../protocol/turns.ts';

/** A beginning of a history that a session ended with once. */
export type KnownBeginning = {
  readonly end: ChainEnd;
  /** Of how many messages of the history it is. */
  readonly count: number;
};

const newest = (ends: readonly ChainEnd[]): ChainEnd | undefined =>
  ends.reduce<ChainEnd | undefined>(
    (found, end) => (found === undefined || end.turnID > found.turnID ? end : found),
    undefined,
  );

/**
 * The longest beginning that is known in one session alone: of two equal conversations neither is taken. With `sessionID` only that
 * session counts.
 */
export const longestKnown = (
  chains: readonly Chain[],
  ends: readonly ChainEnd[],
  sessionID?: string,
): KnownBeginning | undefined => {
  for (const chain of chains.toReversed()) {
    const known = ends.filter((end) => end.digest === chain.digest && (sessionID ?? end.sessionID) === end.sessionID);
    const end = new Set(known.map((one) => one.sessionID)).size === 1 ? newest(known) : undefined;
    if (end !== undefined) return { end, count: chain.count };
  }
  return undefined;
};

/** Where a conversation goes on: in its session, in a fork of it after a turn, or in a new session. */
export type Place =
  | { readonly kind: 'on' }
  | { readonly kind: 'forked'; readonly end: ChainEnd; readonly count: number }
  | { readonly kind: 'new' };

/** For a conversation that is named, and a history to compare with the one that it ended with, its `tip`. */
export const placeInConversation = (
  chains: readonly Chain[],
  ends: readonly ChainEnd[],
  { sessionID, tip }: { readonly sessionID: string; readonly tip: string | undefined },
): Place => {
  if (tip !== undefined && chains.at(-1)?.digest === tip) return { kind: 'on' };
  const known = longestKnown(chains, ends, sessionID);
  return known === undefined ? { kind: 'new' } : { kind: 'forked', end: known.end, count: known.count };
};
