import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from './replicas.ts';

const STAY_MS = 900;
const PATIENCE_MS = 30_000;

type Seen = { readonly ids: readonly string[]; readonly connections: number };
/** A client of the global event stream. */
export type EventFollower = {
  /** What it has received, once that includes the event. */
  readonly upTo: (id: string) => Promise<Seen>;
  readonly stop: () => Promise<void>;
};

/** Follows the events of several servers, at one of them for a while and then at another, from where it was. */
export const followEvents = (any: () => Replica, random: () => number): EventFollower => {
  const ids: string[] = [];
  let connections = 0;
  let isOver = false;
  const take = (frame: string): void => {
    const id = /^id: (.*)$/m.exec(frame)?.[1];
    if (id !== undefined) ids.push(id);
    if (frame.includes('server.events.lost')) throw new Error('The server says that events were lost');
  };
  const stay = async (): Promise<void> => {
    const last = ids.at(-1);
    const response = await any().call(
      'GET',
      '/global/event',
      undefined,
      last === undefined ? {} : { 'last-event-id': last },
    );
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (response.status !== 200 || reader === undefined) return void (await sleep(50));
    connections += 1;
    const leaving = setTimeout(() => void reader.cancel().catch(() => {}), random() * STAY_MS);
    let rest = '';
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const frames = (rest + value).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) take(frame);
      }
    } finally {
      clearTimeout(leaving);
    }
  };
  let failure: unknown;
  const following = (async () => {
    while (!isOver && failure === undefined) {
      await stay().catch((error: unknown) => {
        if (String(error).includes('events were lost')) failure = error;
      });
      await sleep(5);
    }
  })();
  return {
    async upTo(id) {
      const until = performance.now() + PATIENCE_MS;
      while ((ids.at(-1) ?? '') < id) {
        if (failure !== undefined) throw failure;
        if (performance.now() > until) throw new Error(`${id} never came; the last was ${ids.at(-1)}`);
        await sleep(20);
      }
      return { ids: [...ids], connections };
    },
    async stop() {
      isOver = true;
      await following;
    },
  };
};
