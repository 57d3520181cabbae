import type { SseItem } from '../../core/http/sse-parser.ts';
import { isNestedBeyond, isRecord, parseJsonValue } from '../../core/json.ts';
import type { ServiceClient } from '../services/service-client.ts';

/** Takes the events of the gateway. */
export type FeedSink = {
  /** Sends an event to everyone, such as `decided` or `skipped`. */
  readonly send: (event: string, data: unknown) => void;
  /** Sends a verdict with those that come at the same time. */
  readonly sendVerdict: (verdict: unknown) => void;
};

/** The gateway's events, for as long as a browser follows: without one, the gateway is not read. */
export type VerdictFeed = { readonly start: (sink: FeedSink) => void; readonly stop: () => void };

/** A verdict is a few hundred bytes, and holds no text. */
const EVENT_LIMIT_CHARS = 16_384;

const passOn = ({ send, sendVerdict }: FeedSink, name: string, data: string): void => {
  const value = data.length > EVENT_LIMIT_CHARS ? undefined : parseJsonValue(data);
  if ((!isRecord(value) && !Array.isArray(value)) || isNestedBeyond(value)) return;
  if (name === 'verdict') sendVerdict(value);
  else if (name === 'keys' || name === 'skipped') send(name, value);
};

/** Creates the feed. It reads nothing before `start`. */
export const createVerdictFeed = (gateway: Pick<ServiceClient, 'follow'>): VerdictFeed => {
  let reading: AbortController | undefined;
  return {
    start(sink) {
      if (reading !== undefined) return;
      reading = new AbortController();
      const asked = {
        path: '/admin/events',
        resumes: true,
        onItem: (item: SseItem): void => {
          if (item.kind === 'event') passOn(sink, item.name, item.data);
        },
      };
      void gateway.follow(asked, reading.signal);
    },
    stop() {
      reading?.abort();
      reading = undefined;
    },
  };
};
