import type { OpenHttpStream } from '../../../../src/core/http/client.ts';
import { HttpClientError } from '../../../../src/core/http/client.ts';

/** An event stream as OpenCode has it, without ids: what was missed is not told again. */
export type PlainFeed = {
  readonly stream: OpenHttpStream;
  /** Ends it, and lets nobody open one until the returned function is called. */
  readonly cutFeed: () => () => void;
  /** Keeps events back until the returned function is called. */
  readonly holdFeed: () => () => void;
  /** Puts an event into it that is not the agent's. */
  readonly report: (event: unknown) => void;
};

const withoutIDs = (bytes: Uint8Array): Uint8Array =>
  new TextEncoder().encode(new TextDecoder().decode(bytes).replaceAll(/^id: .*\n/gm, ''));

/** Puts faults into a stream. */
export const plainFeed = (inner: OpenHttpStream): PlainFeed => {
  let isCut = false;
  let held: Promise<void> | undefined;
  const reported: Uint8Array[] = [];
  let wake = Promise.withResolvers<undefined>();
  const wakeUp = (): void => {
    wake.resolve(undefined);
    wake = Promise.withResolvers();
  };
  async function* faulty(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const source = chunks[Symbol.asyncIterator]();
    let next = source.next();
    try {
      for (;;) {
        const read = await Promise.race([next, wake.promise]);
        while (held !== undefined) await held;
        if (isCut) throw new HttpClientError('ECONNRESET');
        for (const bytes of reported.splice(0)) yield bytes;
        if (read === undefined) continue;
        if (read.done === true) return;
        yield withoutIDs(read.value);
        next = source.next();
      }
    } finally {
      // The agent sends heartbeats as long as it is read.
      next.catch(() => {});
      void source.return?.()?.catch(() => {});
    }
  }
  return {
    async stream(request) {
      if (isCut) throw new HttpClientError('ECONNREFUSED');
      const opened = await inner(request);
      return { ...opened, chunks: faulty(opened.chunks) };
    },
    cutFeed() {
      isCut = true;
      wakeUp();
      return () => {
        isCut = false;
      };
    },
    holdFeed() {
      const holding = Promise.withResolvers<void>();
      held = holding.promise;
      return () => {
        held = undefined;
        holding.resolve();
      };
    },
    report(event) {
      reported.push(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
      wakeUp();
    },
  };
};
