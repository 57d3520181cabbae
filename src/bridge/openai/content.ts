import { badInput } from '../bad-input.ts';
import type { FilePart } from './request.ts';

const DATA_URL = /^data:([\w.+-]{1,99}\/[\w.+-]{1,99})(?:;[\w.+-]+=[\w.+-]*)*;base64,/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
const NAME_CHARS = 255;
const UNKNOWN_MIME = 'application/octet-stream';
const AUDIO_MIMES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4' };
const MIMES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
};

const isBase64 = (data: string): boolean =>
  data !== '' && data.length % 4 === 0 && !NOT_BASE64.test(data.replace(/={1,2}$/, ''));

/** The media type of a data URL in base64; nothing for any other text. */
const mimeOf = (url: string): string | undefined => {
  const [start, mime] = DATA_URL.exec(url) ?? [];
  return start !== undefined && isBase64(url.slice(start.length)) ? mime : undefined;
};

/** An image by a data URL. Images are not fetched from anywhere. */
export const imageFrom = (url: string, at: string): FilePart => {
  const mime = mimeOf(url);
  if (mime !== undefined) return { type: 'file', mime, url };
  throw badInput('image_url_unsupported', at, `Expected a data: URL in base64 at '${at}': images are not fetched`);
};

/** Base64 as a data URL, whether it came as one or without its beginning. */
const dataFrom = (data: string, mime: string, at: string): Pick<FilePart, 'mime' | 'url'> => {
  const given = mimeOf(data);
  if (given !== undefined) return { mime: given, url: data };
  if (isBase64(data)) return { mime, url: `data:${mime};base64,${data}` };
  throw badInput('invalid_value', at, `Invalid value at '${at}': expected base64, or a data: URL in base64`);
};

/** A recording, as OpenAI's `input_audio` holds it. */
export const audioFrom = ({ data, format }: { data: string; format: string }, at: string): FilePart => {
  if (!/^[\w.+-]{1,40}$/.test(format))
    throw badInput('invalid_value', `${at}.format`, `Invalid value at '${at}.format': expected a format such as "wav"`);
  return { type: 'file', ...dataFrom(data, AUDIO_MIMES[format] ?? `audio/${format}`, `${at}.data`) };
};

export type GivenFile = {
  readonly file_data?: string | null | undefined;
  readonly filename?: string | null | undefined;
  readonly file_id?: string | null | undefined;
  readonly file_url?: string | null | undefined;
};

/** A file that came along. One that is only named by an id or an address is refused: none are kept here, and none fetched. */
export const fileFrom = ({ file_data, filename, file_id, file_url }: GivenFile, at: string): FilePart => {
  if (file_data === undefined || file_data === null) {
    const isNamed = (file_id ?? file_url) !== undefined && (file_id ?? file_url) !== null;
    throw isNamed
      ? badInput('unsupported_value', at, `Files are neither kept nor fetched here: send file_data at '${at}'`)
      : badInput('missing_required_parameter', `${at}.file_data`, `Missing required parameter: '${at}.file_data'`);
  }
  const name = filename?.trim().slice(-NAME_CHARS) ?? '';
  const mime = MIMES[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ''] ?? UNKNOWN_MIME;
  return { type: 'file', ...dataFrom(file_data, mime, `${at}.file_data`), ...(name === '' ? {} : { filename: name }) };
};
