import { createPublisher } from '../../../../src/agent/events/publisher.ts';
import { followEvents, type LostEvents } from '../../../../src/agent/events/stream.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { DirectoryEvent, Store } from '../../../../src/agent/store/store.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import type { createAgentWorld } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { deltaOf } from '../../store/samples.ts';

type World = Awaited<ReturnType<typeof createAgentWorld>>;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const SESSION = { sessionID: 'ses_000000000000aaaaaaaaaaaaaa' };

/** A store, a publisher, and what a reader of its events has heard. */
export const fed = (change: (store: Store) => Store = (store) => store) => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = change(createMemoryStore({ ids, eventLimit: 100_000 }));
  const publisher = createPublisher(store);
  const ending = new AbortController();
  let listeners = 0;
  const watched = {
    subscribe: (listener: (placed: DirectoryEvent) => void) => {
      listeners += 1;
      const leave = publisher.subscribe(listener);
      return () => {
        listeners -= 1;
        leave();
      };
    },
  };
  const publish = (directory: string, count = 1) =>
    publisher.publish(directory, {
      drafts: Array.from({ length: count }, () => ({ type: 'session.idle' as const, properties: SESSION })),
    });
  const publishTexts = (texts: readonly string[]) =>
    publisher.publish('/a', { drafts: texts.map((text) => deltaOf(SESSION.sessionID, text)) });
  const follow = (afterID?: string, directory?: string) => {
    const left = new AbortController();
    const collected: string[] = [];
    const lost: LostEvents[] = [];
    const source = followEvents(
      { store, publisher: watched, ending: ending.signal },
      { afterID, directory, disconnected: left.signal },
    );
    const done = (async () => {
      for await (const reported of source) {
        if ('event' in reported) collected.push(reported.event.id);
        else lost.push(reported);
      }
    })();
    return { collected, lost, leave: () => left.abort(), done };
  };
  return {
    store,
    publish,
    publishTexts,
    follow,
    end: () => ending.abort(),
    listeners: () => listeners,
    publisher,
    ending,
  };
};

export const idsIn = async (store: Store, directory?: string): Promise<readonly string[]> =>
  (await store.events({ afterID: '', limit: 1_000_000, ...(directory === undefined ? {} : { directory }) })).map(
    ({ event }) => event.id,
  );

/** Reads a stream of the server, event by event. */
export const streamOf = async (world: World, path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await world.call('GET', path, undefined, headers);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const frames: { readonly id: string | undefined; readonly data: unknown }[] = [];
  const texts: string[] = [];
  const done = (async () => {
    for (;;) {
      const text = (await reader?.read())?.value;
      if (text === undefined) return;
      const [, id] = /^id: (.*)$/m.exec(text) ?? [];
      texts.push(text);
      frames.push({ id, data: JSON.parse(/^data: ([^\n]*)$/m.exec(text)?.[1] ?? 'null') });
    }
  })();
  return { response, frames, texts, done, leave: async () => reader?.cancel() };
};
