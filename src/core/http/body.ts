import * as v from 'valibot';
import { untilAborted } from '../async.ts';
import { Fault } from '../fault.ts';
import { jsonErrorText } from '../json.ts';
import { type RunInSlices, runAtOnce, type Steps } from '../time-slices.ts';

/** How far a body of unknown length is read and thrown away, so that its sender still sees the 413 and not a reset. */
const DISCARD_FACTOR = 16;

/** Above it a declared body is read in pieces. */
const UNINTERRUPTED_BYTES = 65_536;

const isJsonType = (contentType: string | null): boolean =>
  contentType === null || /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType);

const tooLarge = (limitBytes: number) => new Fault({ kind: 'body-too-large', limitBytes });

/** How a body is read. */
export type BodyReading = {
  readonly limitBytes: number;
  readonly signal: AbortSignal;
  /** Called with each number of bytes before it is kept in memory. It may throw, and nothing more is kept then. */
  readonly reserve?: (bytes: number) => void;
  /** Parses a large body in steps, so that other requests have their turns between them. Without it, at once. */
  readonly runInSlices?: RunInSlices;
};

/**
 * Reads to the end within the limit. Past it, and once `signal` aborts, it reads on and keeps nothing, because breaking out
 * would reset the socket.
 */
const readChunks = async (
  body: ReadableStream<Uint8Array>,
  { limitBytes, reserve, signal }: BodyReading,
): Promise<Uint8Array[]> => {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let failure: unknown;
  // What has arrived by then must not wait for the rest, which may never come.
  const giveUp = (): void => {
    failure ??= signal.reason ?? new Fault({ kind: 'body-too-slow' });
    chunks.length = 0;
  };
  signal.addEventListener('abort', giveUp, { once: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > limitBytes * DISCARD_FACTOR) {
      await reader.cancel().catch(() => {});
      throw tooLarge(limitBytes);
    }
    if (bytes > limitBytes || failure !== undefined) {
      chunks.length = 0;
      continue;
    }
    try {
      reserve?.(value.byteLength);
      chunks.push(value);
    } catch (error) {
      failure = error;
    }
  }
  signal.removeEventListener('abort', giveUp);
  if (failure !== undefined) throw failure;
  if (bytes > limitBytes) throw tooLarge(limitBytes);
  return chunks;
};

const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
};

/** The length that frames the body; with a transfer encoding, or in any other form than digits, it frames nothing. */
const declaredBytes = (headers: Headers): number | undefined => {
  const text = headers.get('content-length') ?? '';
  return /^\d+$/.test(text) && !headers.has('transfer-encoding') ? Number(text) : undefined;
};

const readBytes = async (request: Request, reading: BodyReading): Promise<Uint8Array> => {
  const { limitBytes, reserve } = reading;
  const declared = declaredBytes(request.headers);
  // Refusing before the body is touched is the one way in which every client is sure to read the answer.
  if (declared !== undefined && declared > limitBytes) throw tooLarge(limitBytes);
  if (declared !== undefined) {
    reserve?.(declared);
    // The quicker way, which cannot be interrupted: what it keeps of a body that never ends is little.
    if (declared <= UNINTERRUPTED_BYTES) return new Uint8Array(await request.arrayBuffer());
  }
  if (request.body === null) return new Uint8Array();
  return joined(await readChunks(request.body, declared === undefined ? reading : { ...reading, reserve: () => {} }));
};

/** The body, or a fault: the sender disconnected, or took longer than `signal` allows. */
const arrivedBytes = async (request: Request, reading: BodyReading): Promise<Uint8Array> => {
  const { signal } = reading;
  try {
    return await untilAborted(readBytes(request, reading), signal);
  } catch (error) {
    if (signal.aborted && !request.signal.aborted) throw new Fault({ kind: 'body-too-slow' });
    if (error instanceof Fault) throw error;
    throw new Fault({ kind: 'client-left' });
  }
};

const invalidJson = (message: string) => new Fault({ kind: 'bad-input', code: 'invalid_json', param: null, message });

/**
 * How many values a body may have: members of objects and items of lists, and the objects and lists themselves. Reading a
 * value costs far more than a byte of a text, and so does all that is done with it later.
 */
const VALUES_LIMIT = 50_000;
const BYTES_PER_STEP = 64 * 1024;
const [QUOTE, COMMA, OPEN_LIST, BACKSLASH, OPEN_OBJECT] = [0x22, 0x2c, 0x5b, 0x5c, 0x7b];

/** Whether a body has too many values: about as many as it has commas and opening brackets outside of its texts. */
function* hasTooManyValues(bytes: Uint8Array): Steps<boolean> {
  // The limit cannot be reached with fewer bytes, and most bodies are short.
  if (bytes.length <= VALUES_LIMIT) return false;
  let values = 0;
  let isInText = false;
  for (let start = 0, at = 0; start < bytes.length; start += BYTES_PER_STEP) {
    const end = Math.min(bytes.length, start + BYTES_PER_STEP);
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) isInText = !isInText;
      else if (isInText) at += byte === BACKSLASH ? 1 : 0;
      else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) values += 1;
    }
    if (values > VALUES_LIMIT) return true;
    yield;
  }
  return false;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The place where a body is no JSON is found only in one as people write them by hand: it takes longer than to parse it. */
const EXPLAINED_CHARS = 4096;
const notJson = (text: string) => {
  const where = text.length > EXPLAINED_CHARS ? '' : jsonErrorText(text, { repeats: true });
  return invalidJson(`The request body is not JSON${text === '' ? ': it is empty' : where}`);
};

function* parsing(bytes: Uint8Array): Steps<unknown> {
  if (yield* hasTooManyValues(bytes))
    throw invalidJson(`The request body has more than ${VALUES_LIMIT} values: members of objects and items of lists`);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw invalidJson('The request body is not JSON in UTF-8');
  }
  yield;
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(text);
  }
}

/** Not under the deadline of the arrival: that is over. A client may leave all the same. */
const parsed = async (bytes: Uint8Array, { signal }: Request, { runInSlices }: BodyReading): Promise<unknown> => {
  if (signal.aborted) throw new Fault({ kind: 'client-left' });
  // A short one takes less than a step of a long one.
  if (runInSlices === undefined || bytes.length <= VALUES_LIMIT) return runAtOnce(parsing(bytes));
  try {
    return await runInSlices(parsing(bytes), signal);
  } catch (error) {
    throw signal.aborted && !(error instanceof Fault) ? new Fault({ kind: 'client-left' }) : error;
  }
};

const refuseOtherTypes = ({ headers }: Request): void => {
  if (!isJsonType(headers.get('content-type'))) throw new Fault({ kind: 'unsupported-media-type' });
};

/**
 * The request's JSON, bounded while it is read: a `body-too-large`, `unsupported-media-type` or `bad-input` fault
 * (code `invalid_json`) otherwise, `body-too-slow` when `signal` ends first. UTF-8 must be valid; a byte order mark is allowed.
 * It has at most 50,000 values, however few bytes they take.
 */
export const readJson = async (request: Request, reading: BodyReading): Promise<unknown> => {
  refuseOtherTypes(request);
  return parsed(await arrivedBytes(request, reading), request, reading);
};

/** The same where the body may be left out: nothing when it is empty, whatever its headers say of it. */
export const readJsonIfAny = async (request: Request, reading: BodyReading): Promise<unknown> => {
  const bytes = await arrivedBytes(request, reading);
  if (bytes.byteLength === 0) return undefined;
  refuseOtherTypes(request);
  return parsed(bytes, request, reading);
};

const isForm = ({ headers }: Request): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers.get('content-type') ?? '');

const FORM_LIMIT_BYTES = 32_768;
const FIELDS_LIMIT = 16;

/** A name or value of a form; the text as it is where its escapes are no UTF-8. */
const formText = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

/**
 * The first 16 fields of a form that a page without a script has sent; `body-too-large` above 32 KiB. Not `URLSearchParams`:
 * on Node it takes 40 s for 4 MB of `a&`.
 */
export const readForm = async (request: Request, reading: BodyReading): Promise<ReadonlyMap<string, string>> => {
  if (!isForm(request)) throw new Fault({ kind: 'unsupported-media-type' });
  const limitBytes = Math.min(reading.limitBytes, FORM_LIMIT_BYTES);
  const text = new TextDecoder().decode(await arrivedBytes(request, { ...reading, limitBytes }));
  return new Map(
    text.split('&', FIELDS_LIMIT).map((field) => {
      const equals = `${field}=`.indexOf('=');
      return [formText(field.slice(0, equals)), formText(field.slice(equals + 1))];
    }),
  );
};

/** What the lengths of a value count. A number is compared itself. */
const unitOf = (input: unknown): string => {
  if (typeof input === 'string') return ' characters';
  return typeof input === 'object' ? ' entries' : '';
};

/** How the words of our own schemas begin. Valibot's begin with "Invalid", and quote the value. */
const OWN_WORDS = 'expected ';

/** What a schema expected, in words: its own, or else it has `>=1` for a length, and `("a" | "b")` for a choice. */
const expectedIn = ({ expected, type, input, message }: v.BaseIssue<unknown>): string => {
  if (message.startsWith(OWN_WORDS)) return message.slice(OWN_WORDS.length);
  const limit = /^([<>])=(\d+)$/.exec(expected ?? '');
  if (limit !== null) return `at ${limit[1] === '<' ? 'most' : 'least'} ${limit[2]}${unitOf(input)}`;
  const choice = /^\((".*")\)$/.exec(expected ?? '')?.[1];
  if (choice !== undefined)
    return choice
      .replaceAll('"', '')
      .replaceAll(' | ', ', ')
      .replace(/, ([^,]*)$/, ' or $1');
  return expected ?? type;
};

/** What a schema found wrong first: where, and what it expected. The value itself is left out, it is the user's. */
type Issue = { readonly path: string; readonly expected: string };

export const issueOf = (issue: v.BaseIssue<unknown>): Issue => ({
  path: v.getDotPath(issue)?.replace(/(?:^|\.)(\d+)(?=\.|$)/g, '[$1]') ?? '',
  expected: expectedIn(issue),
});
