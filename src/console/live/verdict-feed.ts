import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { OpenHttpStream } from '../../core/http/client.ts';
import { readEventConnection } from '../../core/http/event-connection.ts';
import { isNestedBeyond, isRecord, parseJsonValue } from '../../core/json.ts';
import type { ServiceClient } from '../services/service-client.ts';
import type { Followers } from './followers.ts';

/** The gateway's events, for as long as a browser follows: without one, the gateway is not read. */
export type VerdictFeed = { readonly start: () => void; readonly stop: () => void };

type VerdictFeedNeeds = {
  readonly client: Pick<ServiceClient, 'address' | 'headers'>;
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly followers: Pick<Followers, 'sendVerdict' | 'send'>;
};

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 15_000;
/** A verdict is a few hundred bytes, and holds no text. */
const EVENT_LIMIT_CHARS = 16_384;

export const createVerdictFeed = ({ client, stream, clock, followers }: VerdictFeedNeeds): VerdictFeed => {
  let reading: AbortController | undefined;
  const onEvent = (name: string, data: string): void => {
    const value = data.length > EVENT_LIMIT_CHARS ? undefined : parseJsonValue(data);
    if ((!isRecord(value) && !Array.isArray(value)) || isNestedBeyond(value)) return;
    if (name === 'verdict') followers.sendVerdict(value);
    else if (name === 'keys' || name === 'skipped') followers.send(name, value);
  };
  const read = async (signal: AbortSignal): Promise<void> => {
    let lastID = '';
    for (let failures = 0; !signal.aborted; failures++) {
      const url = `${client.address}/admin/events`;
      const end = await readEventConnection(
        {
          ...{ stream, clock, url, lastID },
          headers: client.headers,
          isOpenByBytes: true,
          onItem(item) {
            if (item.kind === 'event' && !signal.aborted) onEvent(item.name, item.data);
            return 'open';
          },
        },
        signal,
      ).catch(() => ({ retryMs: 0, lastID, wasOpen: false }));
      lastID = end.lastID;
      if (end.wasOpen) failures = 0;
      const ms = Math.min(LONGEST_DELAY_MS, Math.max(end.retryMs, FIRST_DELAY_MS * 2 ** failures));
      await pause(clock, ms, signal).catch(() => {});
    }
  };
  return {
    start() {
      if (reading !== undefined) return;
      reading = new AbortController();
      void read(reading.signal);
    },
    stop() {
      reading?.abort();
      reading = undefined;
    },
  };
};
