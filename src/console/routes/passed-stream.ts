import type { Clock } from '../../core/clock.ts';
import type { HttpStream } from '../../core/http/client.ts';
import { pushedSseResponse, sendWhileRead } from '../../core/http/sse.ts';
import { createSseParser } from '../../core/http/sse-parser.ts';
import { streamedResponse } from '../../core/http/streamed-response.ts';
import { createChunkFilter } from '../services/chunk-filter.ts';
import type { SecretFilter } from '../services/secret-filter.ts';

type PassedStreamNeeds = {
  readonly source: HttpStream;
  readonly hide: SecretFilter;
  /** Ends the request to the service. Called at the end in any case. */
  readonly abort: () => void;
};

/** Longer than any secret, however JSON writes it. */
const HELD_CHARS = 8192;
const EVENT_LIMIT_CHARS = 8 * 1024 * 1024;

/**
 * Passes a service's text on line by line, as it comes. A client that reads slowly is waited for, and one that leaves ends the request.
 * A text that breaks off ends there.
 */
export const passLines = (
  { source, hide, abort }: PassedStreamNeeds,
  headers: Readonly<Record<string, string>>,
): Response =>
  streamedResponse(async ({ write }, left) => {
    left.addEventListener('abort', abort, { once: true });
    const decoder = new TextDecoder();
    // The end of a line may be the beginning of a secret.
    let held = '';
    try {
      for await (const bytes of source.chunks) {
        held = hide(held + decoder.decode(bytes, { stream: true }));
        const end = Math.max(held.lastIndexOf('\n') + 1, held.length - HELD_CHARS);
        await write(held.slice(0, end));
        held = held.slice(end);
      }
      await write(held);
    } catch {
      // Its head is sent: the text shows by its end that it is not whole.
    } finally {
      abort();
    }
  }, headers);

/**
 * Passes the chunks of a chat on as they come, with heartbeats of our own while none comes. They are read to the end also when
 * the client has left or reads no more, as what the service does would end with its reader. `brokenOff` is the last one of a stream that
 * breaks off.
 */
export const passEvents = ({ source, hide, abort }: PassedStreamNeeds, brokenOff: string, clock: Clock): Response =>
  pushedSseResponse(
    async (send) => {
      const parser = createSseParser({ limitChars: EVENT_LIMIT_CHARS });
      const sendRead = sendWhileRead(send, clock);
      const filter = createChunkFilter(hide);
      const pass = async (...all: readonly string[]): Promise<void> => {
        for (const data of all) await sendRead({ data });
      };
      try {
        for await (const bytes of source.chunks)
          for (const item of parser.push(bytes))
            await pass(...(item.kind === 'event' ? filter.take(item.data) : [...filter.end(), brokenOff]));
        await pass(...filter.end());
      } catch {
        await pass(...filter.end(), brokenOff);
      } finally {
        abort();
      }
    },
    { clock, heartbeat: () => ({ comment: 'ping' }), onBug: () => {} },
  );
