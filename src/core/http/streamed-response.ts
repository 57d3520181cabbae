import { cutText } from '../text.ts';

/** Where the text of a streamed body goes. */
export type TextSink = {
  /** Sends a text. Returns a promise where the reader is behind: wait for it before sending more. */
  readonly write: (text: string) => Promise<void> | undefined;
  /** Whether the reader has not taken what was sent. */
  readonly isBehind: () => boolean;
};

/** Writes a body, which ends when this settles. Must not reject, and ends soon after `left` has aborted. */
type WriteBody = (sink: TextSink, left: AbortSignal) => Promise<void>;

/** A body that goes to a connection as text, without a stream of the platform in between. */
export type DirectBody = {
  /** Gives what was written and all that follows to this connection. Call it before the response's own body is read. */
  readonly sendTo: (connection: TextSink & { readonly end: () => void }) => void;
  /** The client has disconnected: nothing more is sent. */
  readonly leave: () => void;
};

const directBodies = new WeakMap<Response, DirectBody>();

/** The direct way to the body of a streamed response; undefined for every other response. */
export const directBodyOf = (response: Response): DirectBody | undefined => directBodies.get(response);

/** Encoding more at once would hold the event loop for too long. */
const CHUNK_CHARS = 512 * 1024;

/** The text that waits for the response's own body to be read. */
const createReadableSink = (onCancel: () => void) => {
  const encoder = new TextEncoder();
  let unread = '';
  let isOver = false;
  let taken: PromiseWithResolvers<void> | undefined;
  /** Of a reader that waits. */
  let waiting: ReadableStreamDefaultController<Uint8Array> | undefined;
  const take = (): string => {
    const text = unread;
    unread = '';
    taken?.resolve();
    taken = undefined;
    return text;
  };
  const nextChunk = (): Uint8Array => {
    const [chunk = ''] = cutText(unread, CHUNK_CHARS);
    if (chunk.length === unread.length) take();
    else unread = unread.slice(chunk.length);
    return encoder.encode(chunk);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (unread === '' && !isOver) waiting = controller;
        else if (unread !== '') controller.enqueue(nextChunk());
        if (isOver && unread === '') controller.close();
      },
      cancel() {
        take();
        onCancel();
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    take,
    isBehind: () => unread !== '',
    write(text: string): Promise<void> | undefined {
      unread += text;
      const reader = waiting;
      waiting = undefined;
      reader?.enqueue(nextChunk());
      if (unread === '') return undefined;
      taken ??= Promise.withResolvers();
      return taken.promise;
    },
    end(): void {
      isOver = true;
      waiting?.close();
      waiting = undefined;
    },
  };
};

/**
 * A response whose text is written while it is sent. A stream of the platform costs more than what passes through it, so an
 * adapter that knows `directBodyOf` takes the text itself; a reader of `body` gets the same.
 */
export const streamedResponse = (writeBody: WriteBody, headers: Readonly<Record<string, string>>): Response => {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const readable = createReadableSink(leave);
  let sink: TextSink & { readonly end: () => void } = readable;
  const response = new Response(readable.body, { statusText: 'OK', headers });
  const written = writeBody(
    {
      // No reader would ever take an empty text, and in a chunked body it would be the end.
      write: (text) => (leaving.signal.aborted || text === '' ? undefined : sink.write(text)),
      isBehind: () => sink.isBehind(),
    },
    leaving.signal,
  );
  let isOver = false;
  const end = (): void => {
    isOver = true;
    if (!leaving.signal.aborted) sink.end();
  };
  void written.then(end);
  directBodies.set(response, {
    leave() {
      if (!isOver) leave();
      // A write that waits for a reader waits no longer.
      readable.take();
    },
    sendTo(connection) {
      sink = connection;
      const unread = readable.take();
      if (unread !== '') void connection.write(unread);
      if (isOver) connection.end();
    },
  });
  return response;
};
