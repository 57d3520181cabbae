import { pause } from '../../../core/async.ts';
import type { KeyedQueue } from '../../../core/keyed-queue.ts';
import type { MessageErrorRecord } from '../../agent/schema.ts';
import { refused } from '../../errors.ts';
import { tokenOf } from '../../ids.ts';
import type { TurnSnapshot, TurnUsage } from '../port.ts';
import type { TurnsNeeds } from './needs.ts';
import type { OpenRequests } from './open-requests.ts';
import type { PromptRun } from './run.ts';

/** What stays of a turn that has ended. */
export type EndFacts = {
  readonly status: Exclude<TurnSnapshot['status'], 'queued' | 'running' | 'waiting' | 'calls'>;
  readonly endedMs: number;
  readonly position: number;
  readonly usage: TurnUsage;
  readonly model: string;
  readonly finish?: string | undefined;
  readonly error?: MessageErrorRecord | undefined;
  readonly structured?: unknown;
  /** The names of the tools that it has called. */
  readonly tools: readonly string[];
};

/** A turn as this process knows it. */
export type TurnRecord = {
  readonly id: string;
  readonly owner: string;
  readonly key: string;
  readonly digest: string;
  readonly abortAfterMs: number | null;
  readonly isStored: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdMs: number;
  /** `providerID/modelID` that was asked for; empty for the agent's default. */
  readonly model: string;
  /** Ends its beginning when all who wait for that have left. */
  readonly starting: AbortController;
  /** Resolves once it has begun; to a view where it has not, because another turn waits for a decision. */
  begun: Promise<TurnSnapshot | undefined>;
  /** Undefined until it has begun. */
  conversation: KnownConversation | undefined;
  sessionID: string;
  promptID: string;
  from: number;
  until?: number | undefined;
  continuedBy?: string | undefined;
  /** While it goes on. */
  run: PromptRun | undefined;
  end: EndFacts | undefined;
  readonly readers: Set<string>;
  joins: number;
  leftMs?: number | undefined;
  readMs?: number | undefined;
  readTo?: number | undefined;
  readonly shownIDs: Set<string>;
  /** The digest of the conversation before its answer, and after it. */
  chain?: string | undefined;
  endChain?: string | undefined;
};

/** A conversation as this process knows it. */
export type KnownConversation = {
  readonly id: string;
  readonly owner: string;
  readonly name?: string | undefined;
  readonly isOfClient: boolean;
  readonly createdMs: number;
  metadata: Readonly<Record<string, unknown>>;
  /** Empty until it has one. */
  sessionID: string;
  lastTurnID?: string | undefined;
  /** The digest of its history, if that is known; undefined for one from before a restart, until its session was read. */
  tip: { readonly digest: string | undefined } | undefined;
  /** The turn that goes on in it. */
  openTurn?: TurnRecord | undefined;
  /** Of messages that the client has added, without a turn. */
  readonly addedIDs: Set<string>;
};

/** All that the port knows, in memory. */
export type TurnsState = {
  readonly needs: TurnsNeeds;
  readonly requests: OpenRequests;
  /** Those who want to begin in a conversation, by its id. */
  readonly queue: KeyedQueue;
  /** The oldest first. */
  readonly turns: Map<string, TurnRecord>;
  readonly conversations: Map<string, KnownConversation>;
  /** Whether the conversations of an earlier process were read. */
  hasMarks: boolean;
  /** Aborts when the port stops: nothing that waits for its time is done then. */
  readonly stopping: AbortController;
};

const TURNS_LIMIT = 5000;
const CONVERSATIONS_LIMIT = 10_000;

/** The turn of an owner. Faults with `turn_not_found`. */
export const knownTurn = ({ turns }: TurnsState, id: string, owner: string): TurnRecord => {
  const record = turns.get(id);
  if (record === undefined || record.owner !== owner || record.promptID === '') throw refused('turn_not_found');
  return record;
};

/** The conversation of an owner; undefined if there is none. */
export const conversationAt = (
  { conversations }: TurnsState,
  place: { readonly id: string } | { readonly name: string },
  owner: string,
): KnownConversation | undefined => {
  if ('id' in place) {
    const found = conversations.get(place.id);
    return found?.owner === owner ? found : undefined;
  }
  return [...conversations.values()].find((one) => one.owner === owner && one.name === place.name);
};

/** The turns of a conversation, the oldest first. */
export const turnsIn = ({ turns }: TurnsState, conversation: KnownConversation): readonly TurnRecord[] =>
  [...turns.values()].filter((record) => record.conversation === conversation);

/** Adds an entry. Of too many the oldest one is deleted that `isOld`. */
const addOf = <Entry extends { readonly id: string }>(
  entries: Map<string, Entry>,
  entry: Entry,
  limit: number,
  isOld: (entry: Entry) => boolean,
): void => {
  entries.set(entry.id, entry);
  const old = entries.size > limit ? [...entries.values()].find(isOld) : undefined;
  if (old !== undefined) entries.delete(old.id);
};

/** Adds a turn. Of too many the oldest that has ended is forgotten. */
export const addTurn = ({ turns }: TurnsState, record: TurnRecord): void =>
  addOf(turns, record, TURNS_LIMIT, ({ end }) => end !== undefined);

/** Adds a conversation. Of too many the oldest in which no turn goes on is forgotten. */
export const addConversation = ({ conversations }: TurnsState, conversation: KnownConversation): void =>
  addOf(
    conversations,
    conversation,
    CONVERSATIONS_LIMIT,
    ({ sessionID, openTurn }) => sessionID !== '' && openTurn === undefined,
  );

/** A new id with a kind. */
export const newIDOf = (kind: 'trn' | 'cnv' | 'rdr', { newId }: TurnsNeeds): string => `${kind}_${tokenOf(newId())}`;

/** Calls later, unless the port has stopped. */
export const callLater = ({ needs, stopping }: TurnsState, ms: number, task: () => void): void =>
  void pause(needs.clock, ms, stopping.signal).then(task, () => {});
