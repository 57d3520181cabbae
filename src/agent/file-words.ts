import { dataComplaint, dataUrl } from './data-url.ts';
import { visibleText } from './visible-text.ts';

/** A file as somebody has attached it. */
export type AttachedFile = { readonly mime: string; readonly url: string; readonly filename?: string };

/** What a model is given of a file: its text, its bytes in base64, or a line that says what it was. */
export type ToldFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly data: string; readonly mediaType: string };

const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i;
/** What every adapter can send. Whether a model takes it is for its backend to say. */
const SENT_TYPE = /^(?:image\/[\w.+-]+|application\/pdf)$/i;
const NAME_LIMIT_CHARS = 200;

const paddingOf = (data: string): number => (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
const sizeWords = (bytes: number): string => (bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`);

const unshown = ({ filename = 'file', mime }: AttachedFile, bytes: number): ToldFile => {
  const [name, type] = [filename, mime].map((text) => visibleText(text, NAME_LIMIT_CHARS).replace(/\s+/g, ' '));
  const what = `${name}, ${type || 'of unknown type'}, ${sizeWords(bytes)}`;
  return { kind: 'text', text: `[attached ${what}: cannot be shown to this model]` };
};

const decoded = (isBase64: boolean, data: string): string =>
  isBase64
    ? new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)))
    : decodeURIComponent(data);

/**
 * A file as a model can be told of it. Text is told as text, which every model can read, and nothing is ever fetched. What
 * cannot be sent is said in a line: a failure would fail every later turn of the session, too.
 */
export const toldFile = (file: AttachedFile): ToldFile => {
  const { mime, url, filename } = file;
  const given = dataUrl(url);
  if (given === undefined || dataComplaint(given) !== undefined) return unshown(file, 0);
  const { isBase64, data } = given;
  if (TEXT_TYPE.test(mime)) {
    const text = decoded(isBase64, data);
    return { kind: 'text', text: filename === undefined ? text : `${filename}:\n${text}` };
  }
  const [mediaType = ''] = mime.split(/\s*;/);
  if (isBase64 && data !== '' && SENT_TYPE.test(mediaType)) return { kind: 'file', data, mediaType };
  return unshown(file, isBase64 ? (data.length * 3) / 4 - paddingOf(data) : data.length);
};
