import { Fault } from '../core/fault.ts';
import type { SseEvent } from '../core/sse.ts';
import type { Publisher } from './publisher.ts';
import type { PlacedEvent, Store } from './store.ts';

/** What a slow reader may lag behind before its stream ends; it comes back with the last id it has seen. */
const QUEUE_LIMIT = 10_000;
const REPLAY_PAGE = 500;

export type StreamNeeds = {
  readonly store: Pick<Store, 'events'>;
  readonly publisher: Pick<Publisher, 'subscribe'>;
  /** Ends the stream when it aborts: the server is stopping. */
  readonly ending: AbortSignal;
};

export type EventsWanted = {
  readonly afterID: string | undefined;
  /** All of them unless it is given. */
  readonly directory: string | undefined;
  /** Aborts when nobody reads any more. */
  readonly left: AbortSignal;
};

/**
 * Events as they happen, after those that were missed since `afterID`. None is left out and none comes twice. Ends when the
 * server stops, or the reader leaves or lags too far behind.
 */
export async function* followEvents(
  { store, publisher, ending }: StreamNeeds,
  { afterID, directory, left }: EventsWanted,
): AsyncGenerator<PlacedEvent> {
  let queue: PlacedEvent[] = [];
  const endings = [ending, left];
  let isOver = endings.some(({ aborted }) => aborted);
  let wake = (): void => {};
  // Listening begins before the past is read: what happens meanwhile is in both, and told once.
  const unsubscribe = publisher.subscribe((placed) => {
    if (isOver || (directory !== undefined && placed.directory !== directory)) return;
    if (queue.length >= QUEUE_LIMIT) isOver = true;
    else queue.push(placed);
    wake();
  });
  const end = () => {
    isOver = true;
    wake();
  };
  for (const signal of endings) signal.addEventListener('abort', end, { once: true });
  try {
    let last = afterID ?? '';
    if (afterID !== undefined) {
      for (;;) {
        const page = await store.events({
          afterID: last,
          limit: REPLAY_PAGE,
          ...(directory === undefined ? {} : { directory }),
        });
        for (const placed of page) {
          last = placed.event.id;
          yield placed;
        }
        if (page.length < REPLAY_PAGE) break;
      }
    }
    for (;;) {
      const batch = queue;
      queue = [];
      for (const placed of batch) if (placed.event.id > last) yield placed;
      if (left.aborted || (isOver && queue.length === 0)) return;
      if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
    for (const signal of endings) signal.removeEventListener('abort', end);
  }
}

/** The id after which a client that comes back wants to hear; a `bad-input` fault when it is none of ours. */
export const lastEventID = (request: Request): string | undefined => {
  const id = request.headers.get('last-event-id') ?? undefined;
  if (id === undefined || id === '' || /^evt_[0-9A-Za-z]{26}$/.test(id)) return id === '' ? undefined : id;
  const message = 'Last-Event-ID: expected the id of an event of this server, evt_ and 26 letters or digits';
  throw new Fault({ kind: 'bad-input', code: 'invalid_id', param: null, message });
};

/** An event as the wire has it: bare in a directory's stream, in an envelope in the global one. */
export const sseOf = ({ directory, event }: PlacedEvent, isGlobal: boolean): SseEvent => ({
  id: event.id,
  data: JSON.stringify(isGlobal ? { directory, payload: event } : event),
});
