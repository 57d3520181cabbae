import { Fault } from '../../core/fault.ts';
import type { SseEvent } from '../../core/http/sse.ts';
import { isRecord } from '../../core/json.ts';
import type { DirectoryEvent, Store } from '../store/store.ts';
import type { Publisher } from './publisher.ts';
import type { ReaderProgress } from './readers.ts';

/** What a slow reader may lag behind. Its stream ends then, and it comes back with the last id that it has seen. */
const LIMIT_EVENTS = 10_000;
const LIMIT_CHARS = 16 * 1024 * 1024;
const PER_VALUE_CHARS = 16;

type Waiting = { readonly placed: DirectoryEvent; readonly chars: number };

/** About how long a value is as text. Texts are not looked into, so that this costs nothing beside what is done with it. */
const charsOf = (value: unknown): number => {
  if (typeof value === 'string') return PER_VALUE_CHARS + value.length;
  const held = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  return held.reduce<number>((sum, one) => sum + charsOf(one), PER_VALUE_CHARS);
};

/**
 * Events that wait for one reader. One that finds no room leaves a gap, so none is taken in after it; a single one is never
 * too large.
 */
export const createEventBacklog = () => {
  let coming: Waiting[] = [];
  /** The oldest of them, the next one last: so each can be taken off, and is let go then. */
  let leaving: Waiting[] = [];
  let chars = 0;
  let isFull = false;
  return {
    add(placed: DirectoryEvent): void {
      const count = coming.length + leaving.length;
      const more = charsOf(placed.event);
      isFull ||= count >= LIMIT_EVENTS || (count > 0 && chars + more > LIMIT_CHARS);
      if (isFull) return;
      coming.push({ placed, chars: more });
      chars += more;
    },
    /** The next one, if one is there. */
    take(): DirectoryEvent | undefined {
      if (leaving.length === 0) {
        leaving = coming.reverse();
        coming = [];
      }
      const next = leaving.pop();
      chars -= next?.chars ?? 0;
      return next?.placed;
    },
    clear(): void {
      coming = [];
      leaving = [];
      chars = 0;
      isFull = false;
    },
    /** Whether there was one that found no room. */
    isFull: () => isFull,
  };
};

/** What is held of the past for each reader at a time. */
const PAGE_EVENTS = 500;
const PAGE_BYTES = 1024 * 1024;

export type StreamNeeds = {
  readonly store: Pick<Store, 'events' | 'eventSpan'>;
  readonly publisher: Pick<Publisher, 'subscribe'>;
  /** Ends the stream when it aborts: the server is stopping. */
  readonly ending: AbortSignal;
};

export type EventSubscription = {
  readonly afterID: string | undefined;
  /** All of them unless it is given. */
  readonly directory: string | undefined;
  /** Aborts when nobody reads any more. */
  readonly disconnected: AbortSignal;
  /** Is told how far the reader has come. */
  readonly progress?: Omit<ReaderProgress, 'end'>;
};

/**
 * Some of the events after `after` are gone, or nobody knows what came after it. `from` is the oldest that is left of those
 * after it, if there is one.
 */
export type LostEvents = { readonly after: string; readonly from: string | null };

type Page = { readonly events: readonly DirectoryEvent[]; readonly lost: LostEvents | undefined };

const pageAfter = async (
  store: StreamNeeds['store'],
  { last, directory }: { readonly last: string; readonly directory: string | undefined },
): Promise<Page> => {
  const events = await store.events({
    afterID: last,
    limit: PAGE_EVENTS,
    limitBytes: PAGE_BYTES,
    ...(directory === undefined ? {} : { directory }),
  });
  // Asked after the page, so that nothing can be forgotten between the two.
  const { oldest, forgotten, newest } = await store.eventSpan();
  const isLost = last < forgotten || last > newest;
  return { events, lost: isLost ? { after: last, from: last > newest || oldest === '' ? null : oldest } : undefined };
};

/**
 * Events as they happen, after those that were missed since `afterID`. None is left out without a word, and none comes
 * twice; what was told of a session that is gone is gone with it. An id that the store has not come to yet counts as lost.
 * Ends when the server stops, or the reader leaves or lags too far behind.
 */
export async function* followEvents(
  { store, publisher, ending }: StreamNeeds,
  { afterID, directory, disconnected, progress }: EventSubscription,
): AsyncGenerator<DirectoryEvent | LostEvents> {
  const backlog = createEventBacklog();
  let wake = (): void => {};
  const hear = (placed: DirectoryEvent): void => {
    if (ending.aborted || (directory !== undefined && placed.directory !== directory)) return;
    backlog.add(placed);
    progress?.queued();
    wake();
  };
  // Listening begins before the past is read: what happens meanwhile is in both, and told once.
  const unsubscribe = publisher.subscribe(hear);
  const end = () => wake();
  for (const signal of [ending, disconnected]) signal.addEventListener('abort', end, { once: true });
  try {
    let last = afterID ?? '';
    for (let isBehind = last !== ''; isBehind; ) {
      // A reader that comes back later finds the rest.
      if (ending.aborted || disconnected.aborted) return;
      // What has come so far is in the store, and so in this page or in one after it.
      backlog.clear();
      const { events, lost } = await pageAfter(store, { last, directory });
      if (lost !== undefined) yield lost;
      for (const placed of events) {
        last = placed.event.id;
        yield placed;
      }
      isBehind = events.length > 0;
      // Of the future that it has seen nothing is known here.
      if (lost?.after === last) last = '';
    }
    for (;;) {
      if (disconnected.aborted) return;
      const placed = backlog.take();
      if (placed !== undefined && placed.event.id > last) yield placed;
      if (placed !== undefined) {
        progress?.delivered();
        continue;
      }
      if (ending.aborted || backlog.isFull()) return;
      progress?.drained();
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
    for (const signal of [ending, disconnected]) signal.removeEventListener('abort', end);
  }
}

/** The id after which a client that comes back wants to hear; a `bad-input` fault when it is none of ours. */
export const parseLastEventID = (request: Request): string | undefined => {
  const id = request.headers.get('last-event-id') ?? undefined;
  if (id === undefined || id === '' || /^evt_[0-9A-Za-z]{26}$/.test(id)) return id === '' ? undefined : id;
  const message = 'Last-Event-ID: expected the id of an event of this server, evt_ and 26 letters or digits';
  throw new Fault({ kind: 'bad-input', code: 'invalid_id', param: null, message });
};

/** An event as the wire has it: bare in a directory's stream, in an envelope in the global one. */
export const eventToSse = ({ directory, event }: DirectoryEvent, isGlobal: boolean): SseEvent => ({
  id: event.id,
  data: JSON.stringify(isGlobal ? { directory, payload: event } : event),
});
