import { HttpClientError, type HttpStream, type OpenHttpStream } from '../../../src/core/http/client.ts';

/** A connection to the event stream, with the test at its other end. */
export type Line = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Answers with a head. */
  readonly accept: (status?: number, type?: string) => void;
  /** Fails, before the head or in the middle of the body. */
  readonly fail: (error: unknown) => void;
  readonly send: (text: string | Uint8Array) => void;
  readonly end: () => void;
};

type Piece = { readonly bytes: Uint8Array } | { readonly error: unknown } | 'end';

const lineFor = (asked: Parameters<OpenHttpStream>[0]) => {
  const head = Promise.withResolvers<HttpStream>();
  const pieces: Piece[] = [];
  let wake = (): void => {};
  const put = (piece: Piece): void => {
    pieces.push(piece);
    wake();
  };
  asked.signal.addEventListener('abort', () => {
    head.reject(asked.signal.reason);
    put({ error: asked.signal.reason });
  });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = pieces.shift();
      if (piece === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else if (piece === 'end') return;
      else if ('error' in piece) throw piece.error;
      else yield piece.bytes;
    }
  }
  const line: Line = {
    ...asked,
    accept(status = 200, type = 'text/event-stream') {
      head.resolve({ status, header: (name) => (name === 'content-type' ? type : null), chunks: chunks() });
    },
    fail(error) {
      const thrown = typeof error === 'string' ? new HttpClientError(error) : error;
      head.reject(thrown);
      put({ error: thrown });
    },
    send: (text) => put({ bytes: typeof text === 'string' ? new TextEncoder().encode(text) : text }),
    end: () => put('end'),
  };
  return { line, head: head.promise };
};

/** Streams that a test answers itself, in the order in which they were asked for. */
export const createScriptedStreams = () => {
  const lines: Line[] = [];
  const stream: OpenHttpStream = (asked) => {
    const { line, head } = lineFor(asked);
    lines.push(line);
    return head;
  };
  return { stream, lines };
};
