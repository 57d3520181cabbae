import { pause, untilAborted } from '../../../core/async.ts';
import { setNewest } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import type { SessionRecord } from '../../agent/schema.ts';
import type { AgentClient, AgentEventStream } from '../../agent/types.ts';
import { type MarkIdentity, requestKeyOf } from '../lookup.ts';
import { readConversation, type StoredConversation } from '../record.ts';
import type { Owner, RequestMark } from '../types.ts';
import { createLocalTimes, type LocalTimes } from './local-times.ts';

/** A conversation whose record has the mark of a request, as this bridge last read it with that mark. */
export type MarkedConversation = StoredConversation & { readonly request: RequestMark };

export const isMarked = (conversation: StoredConversation): conversation is MarkedConversation =>
  conversation.request !== undefined;

/** A request that some bridge has sent to the agent. */
export type SeenMark = {
  readonly conversation: MarkedConversation;
  /** When an event first showed that a running bridge writes the mark. Undefined: the bridge that wrote it may have been killed. */
  readonly storedAtMs: number | undefined;
  /** When its session was last written, in the time of this bridge. */
  readonly usedAtMs: number;
};

/** The marks of the requests of all bridges over one agent, in the order in which they were stored there. */
export type RequestMarks = {
  /** Lists the newest sessions if events of them may have been missed. Rejects when the agent does not answer. */
  readonly catchUp: (signal: AbortSignal) => Promise<void>;
  /** Those with the same key, or without one those with the same digest, the oldest first. */
  readonly of: (identity: MarkIdentity) => readonly SeenMark[];
  readonly ofToken: (token: string) => MarkedConversation | undefined;
  /** The last one of a conversation that its client names. */
  readonly ofName: (owner: Owner, name: string) => MarkedConversation | undefined;
  /** Times in marks, in the time of this bridge. */
  readonly times: Pick<LocalTimes, 'leftAtOf' | 'failedAtOf'>;
  /** Resolves once the event of a mark that this bridge has stored has come, or too much time has passed. */
  readonly untilSeen: (token: string, signal: AbortSignal) => Promise<void>;
};

type RequestMarksNeeds = {
  readonly agent: Pick<AgentClient, 'sessions'>;
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'isOpen'>;
  readonly clock: Clock;
};

/** How many of the newest sessions are listed: a client sends again only what it sent a short time ago. */
const LISTED = 200;
const IDENTITIES_LIMIT = 10_000;
const MARKS_EACH = 16;
const SEEN_WITHIN_MS = 2000;
const LOOK_EVERY_MS = 5;
const never = new AbortController().signal;

/** No owner has a line break in it. */
const nameKeyOf = (owner: Owner, name: string): string => `${owner}\n${name}`;

/**
 * Every bridge is sent the events of all sessions in one order, and with them the marks. So all of them know which request with
 * a key was stored first, without asking each other.
 */
export const createRequestMarks = ({ agent, feed, clock }: RequestMarksNeeds): RequestMarks => {
  const byIdentity = new Map<string, readonly SeenMark[]>();
  const tokens = new Map<string, MarkedConversation>();
  const named = new Map<string, MarkedConversation>();
  /** Sessions that were deleted. */
  const gone = new Map<string, true>();
  /** Events were lost, or were not followed yet. */
  let isBehind = true;
  let listing: Promise<void> | undefined;

  const times = createLocalTimes(clock, (token) => !isBehind && listing === undefined && tokens.has(token));
  const startedSeconds = Math.floor(clock.now() / 1000);

  const see = (session: SessionRecord, from: 'list' | 'created' | 'updated'): void => {
    const conversation = readConversation(session);
    if (conversation?.request === undefined) return;
    const { owner, request } = conversation;
    const identity = requestKeyOf({ owner, mark: request });
    const known = byIdentity.get(identity) ?? [];
    const earlier = known.find((seen) => seen.conversation.request.token === request.token);
    // A list may be older than the events that came meanwhile.
    if (from === 'list' && earlier !== undefined && earlier.conversation.usedAt >= conversation.usedAt) return;
    const isRewritten = earlier !== undefined && conversation.revision > earlier.conversation.revision;
    const isWritten = from === 'created' || isRewritten || request.createdSeconds > startedSeconds;
    const storedAtMs = from !== 'list' && isWritten ? clock.now() : undefined;
    times.note(request, from === 'created' || (from === 'updated' && earlier !== undefined));
    const seen = {
      conversation: { ...conversation, request },
      storedAtMs: earlier?.storedAtMs ?? storedAtMs,
      usedAtMs: from === 'list' ? Math.min(conversation.usedAt, clock.now()) : clock.now(),
    };
    const marks = earlier === undefined ? [...known, seen] : known.map((one) => (one === earlier ? seen : one));
    setNewest(byIdentity, [identity, marks.slice(-MARKS_EACH)], IDENTITIES_LIMIT);
    setNewest(tokens, [request.token, seen.conversation], IDENTITIES_LIMIT);
    if (conversation.isNamed)
      setNewest(named, [nameKeyOf(owner, conversation.name), seen.conversation], IDENTITIES_LIMIT);
  };
  const isThere = ({ sessionID }: StoredConversation): boolean => !gone.has(sessionID);
  feed.subscribe((update) => {
    if (update.kind === 'gap') isBehind = true;
    else if (update.event.type === 'session.deleted')
      setNewest(gone, [update.event.properties.info.id, true], IDENTITIES_LIMIT);
    else if (update.event.type === 'session.created' || update.event.type === 'session.updated')
      see(update.event.properties.info, update.event.type === 'session.created' ? 'created' : 'updated');
  });
  const list = async (signal: AbortSignal): Promise<void> => {
    const isFollowed = feed.isOpen();
    isBehind = false;
    try {
      for (const session of (await agent.sessions(LISTED, signal)).toReversed()) see(session, 'list');
      if (!isFollowed) isBehind = true;
    } catch (error) {
      isBehind = true;
      throw error;
    }
  };
  return {
    async catchUp(signal) {
      if (listing === undefined && isBehind)
        listing = list(never).finally(() => {
          listing = undefined;
        });
      // All wait for one listing, and go on in the order in which they came. It goes on when one of their clients disconnects.
      if (listing !== undefined) await untilAborted(listing, signal);
    },
    of: (identity) =>
      (byIdentity.get(requestKeyOf(identity)) ?? []).filter(({ conversation }) => isThere(conversation)),
    times,
    ofToken: (token) => tokens.get(token),
    ofName(owner, name) {
      const conversation = named.get(nameKeyOf(owner, name));
      return conversation && isThere(conversation) ? conversation : undefined;
    },
    async untilSeen(token, signal) {
      const untilMs = clock.now() + SEEN_WITHIN_MS;
      while (!tokens.has(token) && feed.isOpen() && clock.now() < untilMs) await pause(clock, LOOK_EVERY_MS, signal);
    },
  };
};
