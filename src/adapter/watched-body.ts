import { McpProblem } from '../agent/mcp/errors.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Counts bytes since the last empty line, which ends an event; of what is no stream of events, all. */
const createMeter = (isStream: boolean) => {
  let bytes = 0;
  let isAtLineStart = false;
  return (chunk: Uint8Array): number => {
    if (!isStream) bytes += chunk.length;
    else
      for (const byte of chunk) {
        bytes += 1;
        if (byte === LINE_FEED && isAtLineStart) bytes = 0;
        if (byte !== CARRIAGE_RETURN) isAtLineStart = byte === LINE_FEED;
      }
    return bytes;
  };
};

export type WatchedBodyNeeds = {
  /** A stream of events, of which each is bounded for itself. */
  readonly isStream: boolean;
  readonly limitBytes: number;
  readonly onBroken: (why: McpProblem) => void;
  /** Hears that the body was read, broke, or is wanted no more. */
  readonly onOver: () => void;
};

/** The same bytes, of which a message that is too long is the end. */
export const watchedBody = (body: ReadableStream<Uint8Array>, needs: WatchedBodyNeeds): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  const measure = createMeter(needs.isStream);
  let isLeft = false;
  const breakOff = (controller: ReadableStreamDefaultController, why: McpProblem): void => {
    needs.onBroken(why);
    needs.onOver();
    controller.error(why);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          needs.onOver();
          controller.close();
        } else if (measure(value) > needs.limitBytes) {
          await reader.cancel();
          breakOff(controller, new McpProblem('ended', 'The server sent a message that is too long'));
        } else controller.enqueue(value);
      } catch {
        if (!isLeft) breakOff(controller, new McpProblem('ended', 'The connection broke'));
      }
    },
    async cancel() {
      isLeft = true;
      needs.onOver();
      await reader.cancel();
    },
  });
};
