import { createBackendFetch, type Fetcher } from '../../../../src/agent/model/http.ts';
import { createFakeClock } from '../../../fake-clock.ts';

/** What an answer in events is sent with. */
export const EVENTS = { headers: { 'content-type': 'text/event-stream' } };

/** A backend fetch over `fetcher`, with what it was given and a count of listeners on the caller's signal. */
export const createWorld = (fetcher: Fetcher, limits = { headerMs: 100, gapMs: 100, wholeMs: 0 }) => {
  const clock = createFakeClock();
  const signals: AbortSignal[] = [];
  const noted: Fetcher = (url, init) => {
    if (init.signal) signals.push(init.signal);
    return fetcher(url, init);
  };
  const ask = createBackendFetch(
    { fetcher: noted, clock, userAgent: 'us/1', limits },
    { providerID: 'acme', apiKey: 'k', headers: {} },
  );
  const leaving = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = leaving.signal;
  leaving.signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    listeners += 1;
    addEventListener.apply(leaving.signal, given);
  };
  leaving.signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    listeners -= 1;
    removeEventListener.apply(leaving.signal, given);
  };
  return {
    clock,
    leaving,
    ask: () => ask('http://model.test/v1', { body: '{}', signal: leaving.signal }),
    listeners: () => listeners,
    isBrokenOff: () => signals.map(({ aborted }) => aborted),
  };
};

/** A body that gives these chunks, and then nothing and no end; `isLeft` once nobody reads it. */
export const endless = (chunks: readonly string[]) => {
  const waiting = [...chunks];
  let isLeft = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = waiting.shift();
      if (chunk === undefined) return new Promise(() => {});
      controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel() {
      isLeft = true;
    },
  });
  return { body, isLeft: () => isLeft };
};
