import type { Steps } from '../../core/time-slices.ts';

/** Shorter texts take the SDK no time worth saving. */
const LONG_CHARS = 1024;
/** How much of a text is written in one step. */
const STEP_CHARS = 256 * 1024;
const INDEX_DIGITS = 7;

/** The long texts of one request, for which placeholders go through the SDK. */
export type LongTexts = {
  /**
   * The text itself, or a placeholder for it, which is also valid base64. `holder` is an object whose one text it is: where
   * that is sent again, its text is not written again.
   */
  readonly shorten: (text: string, holder?: object) => string;
  /** The body of the request with all texts in their places. A long one is a `Blob`: anything else is copied at once to be sent. */
  readonly complete: (body: string) => Steps<string | Blob>;
};

/** Texts as they stand in bodies, by their holders. */
export type WrittenTexts = Pick<WeakMap<object, Blob>, 'get' | 'set'>;

type LongText = { readonly text: string; readonly holder: object | undefined };

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** The text in pieces, none of which begins in the middle of a character. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = Math.min(text.length, from + STEP_CHARS);
    const to = end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
    yield text.slice(from, to);
    from = to;
  }
}

/**
 * The SDK copies every text several times and writes the whole body at once, which holds the event loop for longer than
 * anything else in a turn. So it gets a placeholder for each long text, and the body is completed in steps. `nonce` is 32
 * characters that no one can guess: a text of a user in their form would be replaced. `written` is for all requests.
 */
export const createLongTexts = (nonce: string, written: WrittenTexts): LongTexts => {
  const texts: LongText[] = [];
  const mark = `gatehouse${nonce}`;
  const placeholder = new RegExp(`${mark}(\\d{${INDEX_DIGITS}})`);
  function* write({ text, holder }: LongText): Steps<Blob> {
    const known = holder === undefined ? undefined : written.get(holder);
    if (known !== undefined) return known;
    const chunks: Blob[] = [];
    for (const part of piecesOf(text)) {
      chunks.push(new Blob([JSON.stringify(part).slice(1, -1)]));
      yield;
    }
    const [first = new Blob([]), ...more] = chunks;
    const whole = more.length === 0 ? first : new Blob(chunks);
    if (holder !== undefined) written.set(holder, whole);
    return whole;
  }
  return {
    shorten(text, holder) {
      if (text.length < LONG_CHARS) return text;
      return `${mark}${String(texts.push({ text, holder }) - 1).padStart(INDEX_DIGITS, '0')}`;
    },
    *complete(body) {
      if (texts.length === 0 && body.length <= STEP_CHARS) return body;
      const chunks: (string | Blob)[] = [];
      // By turns what stands around the placeholders, and their numbers.
      for (const [place, piece] of body.split(placeholder).entries()) {
        const long = place % 2 === 0 ? undefined : texts[Number(piece)];
        chunks.push(long === undefined ? piece : yield* write(long));
      }
      return new Blob(chunks);
    },
  };
};
