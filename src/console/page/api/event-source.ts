import { parseJsonValue } from '../../../core/json.ts';

/** The connection to the console's events: waiting for the first, receiving, or trying again. */
export type StreamState = 'connecting' | 'open' | 'lost';

type EventConnectionNeeds = {
  readonly path: string;
  /** Called with the parsed data of each event of these names. */
  readonly listeners: Readonly<Record<string, (data: unknown) => void>>;
  readonly onState: (state: StreamState) => void;
  /** Asked before another try: false when the session has ended, and then nothing is tried. */
  readonly mayRetry: () => Promise<boolean>;
};

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** The server sends a `ping` every few seconds. A connection silent for so long is dead, whatever the browser believes. */
const SILENCE_MS = 35_000;

/**
 * Keeps one event stream open until `close`. The browser's own reconnecting gives up on the first answer that is no
 * stream, such as a proxy's 502 during a restart, so this one tries again itself: after half a second, then ever more
 * slowly, and at once when the page is shown again or the network comes back.
 */
export const openEvents = ({ path, listeners, onState, mayRetry }: EventConnectionNeeds): { close: () => void } => {
  let source: EventSource | undefined;
  let waitMs = FIRST_WAIT_MS;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  const hear = (): void => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(fail, SILENCE_MS);
  };
  const connect = (): void => {
    clearTimeout(retryTimer);
    const opened = new EventSource(path);
    source = opened;
    hear();
    opened.addEventListener('open', () => {
      waitMs = FIRST_WAIT_MS;
      onState('open');
      hear();
    });
    opened.addEventListener('error', () => {
      if (opened === source) fail();
    });
    opened.addEventListener('ping', hear);
    for (const [name, listener] of Object.entries(listeners))
      opened.addEventListener(name, (event: MessageEvent<string>) => {
        hear();
        const data = parseJsonValue(event.data);
        if (data !== undefined) listener(data);
      });
  };
  const drop = (): void => {
    source?.close();
    source = undefined;
    clearTimeout(silenceTimer);
    clearTimeout(retryTimer);
  };
  const retry = async (): Promise<void> => {
    const may = await mayRetry().catch(() => undefined);
    if (isClosed || source !== undefined) return;
    if (may === false) return;
    // No answer: the server is still away.
    if (may === undefined) fail();
    else connect();
  };
  const fail = (): void => {
    if (isClosed) return;
    drop();
    onState('lost');
    retryTimer = setTimeout(() => void retry(), waitMs * (0.75 + Math.random() / 2));
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  };
  const wake = (): void => {
    if (isClosed || source !== undefined || document.visibilityState === 'hidden') return;
    clearTimeout(retryTimer);
    waitMs = FIRST_WAIT_MS;
    void retry();
  };
  window.addEventListener('online', wake);
  document.addEventListener('visibilitychange', wake);
  connect();
  return {
    close() {
      isClosed = true;
      drop();
      window.removeEventListener('online', wake);
      document.removeEventListener('visibilitychange', wake);
    },
  };
};
