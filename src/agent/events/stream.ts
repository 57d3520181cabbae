import { Fault } from '../../core/fault.ts';
import type { SseEvent } from '../../core/http/sse.ts';
import { isRecord } from '../../core/json.ts';
import type { DirectoryEvent, Store } from '../store/store.ts';
import type { Publisher } from './publisher.ts';
import type { ReaderProgress } from './readers.ts';

/** How far a slow reader may lag behind. Then its stream ends, and it reconnects with the last id that it has seen. */
const LIMIT_EVENTS = 10_000;
const LIMIT_CHARS = 16 * 1024 * 1024;
const PER_VALUE_CHARS = 16;

type Waiting = { readonly event: DirectoryEvent; readonly chars: number };

/** About the length of a value as JSON text. It reads lengths only, so that it costs little for each event. */
const charsOf = (value: unknown): number => {
  if (typeof value === 'string') return PER_VALUE_CHARS + value.length;
  const held = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  return held.reduce<number>((sum, one) => sum + charsOf(one), PER_VALUE_CHARS);
};

/**
 * Events that wait for one reader. Once one did not fit, no later one is added, since a gap would be hidden. A single event
 * always fits.
 */
const createEventBacklog = () => {
  let incoming: Waiting[] = [];
  /** The oldest of them, the next one last, so that `pop` takes and releases it. */
  let outgoing: Waiting[] = [];
  let chars = 0;
  let isFull = false;
  return {
    add(event: DirectoryEvent): void {
      const count = incoming.length + outgoing.length;
      const more = charsOf(event.event);
      isFull ||= count >= LIMIT_EVENTS || (count > 0 && chars + more > LIMIT_CHARS);
      if (isFull) return;
      incoming.push({ event, chars: more });
      chars += more;
    },
    /** Removes and returns the next one, if there is one. */
    take(): DirectoryEvent | undefined {
      if (outgoing.length === 0) {
        outgoing = incoming.reverse();
        incoming = [];
      }
      const next = outgoing.pop();
      chars -= next?.chars ?? 0;
      return next?.event;
    },
    clear(): void {
      incoming = [];
      outgoing = [];
      chars = 0;
      isFull = false;
    },
    /** Whether an event did not fit. */
    isFull: () => isFull,
  };
};

/** How much of the stored events is in memory for each reader at a time. */
const PAGE_EVENTS = 500;
const PAGE_BYTES = 1024 * 1024;

type StreamNeeds = {
  readonly store: Pick<Store, 'events' | 'eventSpan'>;
  readonly publisher: Pick<Publisher, 'subscribe'>;
  /** Ends the stream when it aborts: the server is stopping. */
  readonly ending: AbortSignal;
};

export type EventSubscription = {
  readonly afterID: string | undefined;
  /** All directories when undefined. */
  readonly directory: string | undefined;
  /** Aborts when the client has disconnected. */
  readonly disconnected: AbortSignal;
  /** Receives how far the reader has come. */
  readonly progress?: Omit<ReaderProgress, 'end'>;
};

/**
 * Some of the events after `after` were pruned, or the store does not know that id. `from` is the oldest later event that
 * is still stored, if there is one.
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
  // Read after the page, so that nothing can be pruned between the two.
  const { oldest, forgotten, newest } = await store.eventSpan();
  const isLost = last < forgotten || last > newest;
  return { events, lost: isLost ? { after: last, from: last > newest || oldest === '' ? null : oldest } : undefined };
};

/**
 * First the events since `afterID`, then events as they happen. None comes twice, and none is left out without a
 * `LostEvents` in its place; events of removed sessions are removed with them. An id that the store has not reached yet
 * counts as lost. Ends when the server stops, the client disconnects, or it lags too far behind.
 */
export async function* followEvents(
  { store, publisher, ending }: StreamNeeds,
  { afterID, directory, disconnected, progress }: EventSubscription,
): AsyncGenerator<DirectoryEvent | LostEvents> {
  const backlog = createEventBacklog();
  let wake = (): void => {};
  const onEvent = (event: DirectoryEvent): void => {
    if (ending.aborted || (directory !== undefined && event.directory !== directory)) return;
    backlog.add(event);
    progress?.queued();
    wake();
  };
  // It subscribes before it reads stored events: what happens meanwhile is in both, and is sent once.
  const unsubscribe = publisher.subscribe(onEvent);
  const end = () => wake();
  for (const signal of [ending, disconnected]) signal.addEventListener('abort', end, { once: true });
  try {
    let last = afterID ?? '';
    for (let isBehind = last !== ''; isBehind; ) {
      // A client that reconnects later finds the rest.
      if (ending.aborted || disconnected.aborted) return;
      // What is in the backlog is stored, so it is in this page or in a later one.
      backlog.clear();
      const { events, lost } = await pageAfter(store, { last, directory });
      if (lost !== undefined) yield lost;
      for (const stored of events) {
        last = stored.event.id;
        yield stored;
      }
      isBehind = events.length > 0;
      // The store never had this id: every new event is later than it.
      if (lost?.after === last) last = '';
    }
    for (;;) {
      if (disconnected.aborted) return;
      const next = backlog.take();
      if (next !== undefined && next.event.id > last) yield next;
      if (next !== undefined) {
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

/** The `Last-Event-ID` header of a client that reconnects; a `bad-input` fault when it has not the form of an event id. */
export const parseLastEventID = (request: Request): string | undefined => {
  const id = request.headers.get('last-event-id') ?? undefined;
  if (id === undefined || id === '' || /^evt_[0-9A-Za-z]{26}$/.test(id)) return id === '' ? undefined : id;
  const message = 'Last-Event-ID: expected the id of an event of this server, evt_ and 26 letters or digits';
  throw new Fault({ kind: 'bad-input', code: 'invalid_id', param: null, message });
};

/** An event for the wire: as it is in a directory's stream, in an envelope with its directory in the global one. */
export const eventToSse = ({ directory, event }: DirectoryEvent, isGlobal: boolean): SseEvent => ({
  id: event.id,
  data: JSON.stringify(isGlobal ? { directory, payload: event } : event),
});
