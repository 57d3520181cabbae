import type { HttpStream } from '../../core/http/client.ts';
import { streamedResponse } from '../../core/http/streamed-response.ts';
import type { SecretFilter } from '../services/secret-filter.ts';

type PassedStreamNeeds = {
  readonly source: HttpStream;
  readonly headers: Readonly<Record<string, string>>;
  readonly hide: SecretFilter;
  /** Ends the request to the service. */
  readonly abort: () => void;
  /** What stands at the end of a text that broke off. */
  readonly brokenOff: string;
  /** Whether the rest is read when the client has left, as what the service does would end with its reader. */
  readonly isReadToEnd?: boolean;
};

/** Longer than any secret, however JSON writes it. */
const HELD_CHARS = 8192;

/**
 * Passes a service's text on line by line, as it comes. A client that reads slowly is waited for, and one that leaves ends the request
 * unless it is read to its end.
 */
export const passStream = ({ source, headers, hide, abort, brokenOff, isReadToEnd }: PassedStreamNeeds): Response =>
  streamedResponse(async ({ write }, left) => {
    if (isReadToEnd !== true) left.addEventListener('abort', abort, { once: true });
    const decoder = new TextDecoder();
    // The end of a line may be the beginning of a secret.
    let held = '';
    try {
      for await (const bytes of source.chunks) {
        if (left.aborted) {
          if (isReadToEnd === true) continue;
          break;
        }
        held = hide(held + decoder.decode(bytes, { stream: true }));
        const end = Math.max(held.lastIndexOf('\n') + 1, held.length - HELD_CHARS);
        await write(held.slice(0, end));
        held = held.slice(end);
      }
      await write(held);
    } catch {
      // Its head is sent: only the text itself can say that it is not whole.
      if (!left.aborted) await write(brokenOff);
    } finally {
      abort();
    }
  }, headers);
