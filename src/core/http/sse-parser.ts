// Our own, beside eventsource-parser: an event that is too long is dropped and the stream goes on. See
// docs/decisions/2026-11-22-three-parts-stay-our-own.md.
/** What a stream of events has brought: an event, or word that one was longer than the limit and was dropped. */
export type SseItem =
  | { readonly kind: 'event'; readonly name: string; readonly data: string }
  | { readonly kind: 'too-long' };

type SseParser = {
  /** Takes the next bytes, cut wherever they are, and returns what they complete. */
  readonly push: (bytes: Uint8Array) => readonly SseItem[];
  /** What `Last-Event-ID` has to be so that nothing after the last whole event is missed; empty if there was no id. */
  readonly lastID: () => string;
  /** The server's `retry`: how long a client waits before it reconnects, in milliseconds. */
  readonly retryMs: () => number | undefined;
};

type SseLimits = {
  /** The longest event, in UTF-16 units, and the longest line. No more of one is ever kept. */
  readonly limitChars: number;
  /** The id that an earlier connection has come to. */
  readonly lastID?: string;
};

const LINE_END = /\r\n|\r|\n/;

/** Reads a stream of server-sent events as the HTML standard wants it. An event that the stream ends in is none. */
export const createSseParser = ({ limitChars, lastID: firstID = '' }: SseLimits): SseParser => {
  const decoder = new TextDecoder();
  let line = '';
  let isAfterReturn = false;
  let isLineTooLong = false;
  let [lastID, newestID] = [firstID, firstID];
  let retryMs: number | undefined;
  let name = '';
  let data: string[] = [];
  let chars = 0;
  let isTooLong = false;

  const drop = (): void => {
    isTooLong = true;
    data = [];
  };
  const takeField = (field: string, value: string): void => {
    if (field === 'data') {
      chars += value.length + 1;
      if (chars > limitChars + 1) drop();
      else data.push(value);
    } else if (field === 'id') {
      if (!value.includes('\0')) newestID = value;
    } else if (field === 'event') name = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  };
  const endEvent = (): readonly SseItem[] => {
    const whole: SseItem = { kind: 'event', name: name === '' ? 'message' : name, data: data.join('\n') };
    const news: readonly SseItem[] = isTooLong ? [{ kind: 'too-long' }] : data.length === 0 ? [] : [whole];
    // Not before: a stream that is cut within an event has not sent it.
    lastID = newestID;
    [name, data, chars, isTooLong] = ['', [], 0, false];
    return news;
  };
  const takeLine = (text: string): readonly SseItem[] => {
    if (text === '') return endEvent();
    const colon = text.indexOf(':');
    if (colon === -1) takeField(text, '');
    // A comment is a field without a name.
    else takeField(text.slice(0, colon), text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1)));
    return [];
  };
  const keep = (piece: string): void => {
    if (line.length + piece.length > limitChars + 'data: '.length) isLineTooLong = true;
    line = isLineTooLong ? '' : line + piece;
  };
  const endLine = (): readonly SseItem[] => {
    const ended = line;
    line = '';
    if (!isLineTooLong) return takeLine(ended);
    isLineTooLong = false;
    drop();
    return [];
  };

  return {
    push(bytes) {
      const decoded = decoder.decode(bytes, { stream: true });
      if (decoded === '') return [];
      const text = isAfterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
      isAfterReturn = decoded.endsWith('\r');
      const [first = '', ...others] = text.split(LINE_END);
      keep(first);
      const news: SseItem[] = [];
      for (const piece of others) {
        news.push(...endLine());
        keep(piece);
      }
      return news;
    },
    lastID: () => lastID,
    retryMs: () => retryMs,
  };
};
