import * as v from 'valibot';
import {
  badInput,
  invalidValue,
  missingMember,
  type PromptFile,
  type PromptPart,
  unsupportedValue,
  wrongType,
} from '../request.ts';
import { parseMember } from './body.ts';

const DATA_URL = /^data:([\w.+-]{1,99}\/[\w.+-]{1,99})(?:;[\w.+-]+=[\w.+-]*)*;base64,/;
/** The head of a data URL is short. Of a long one each parameter would be tried. */
const DATA_URL_HEAD_CHARS = 1024;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
const NAME_CHARS = 255;
const UNKNOWN_MIME = 'application/octet-stream';
const AUDIO_MIMES: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['m4a', 'audio/mp4'],
]);
/** Extensions of files that are texts in a language of their own. */
const TEXT_EXTENSIONS =
  'c cc cpp cs css go h hpp ini java js jsx kt log lua php pl py rb rs sh sql swift toml ts tsv tsx yaml yml'.split(
    ' ',
  );
const MIMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...Object.fromEntries(TEXT_EXTENSIONS.map((extension) => [extension, 'text/plain'])),
    csv: 'text/csv',
    gif: 'image/gif',
    html: 'text/html',
    jpeg: 'image/jpeg',
    jpg: 'image/jpeg',
    json: 'application/json',
    m4a: 'audio/mp4',
    md: 'text/markdown',
    mp3: 'audio/mpeg',
    pdf: 'application/pdf',
    png: 'image/png',
    txt: 'text/plain',
    wav: 'audio/wav',
    webp: 'image/webp',
    xml: 'application/xml',
  }),
);

const isBase64 = (data: string): boolean =>
  data !== '' && data.length % 4 === 0 && !NOT_BASE64.test(data.replace(/={1,2}$/, ''));

/** The media type of a data URL in base64, in the lower case that models' adapters know; nothing for any other text. */
const dataUrlMime = (url: string): string | undefined => {
  const [start, mime] = DATA_URL.exec(url.slice(0, DATA_URL_HEAD_CHARS)) ?? [];
  return start !== undefined && isBase64(url.slice(start.length)) ? mime?.toLowerCase() : undefined;
};

/** An image by a data URL. Images are not fetched from anywhere. */
const parseImage = (url: string, at: string): PromptFile => {
  const mime = dataUrlMime(url);
  if (mime !== undefined) return { type: 'file', at, mime, url };
  throw badInput(
    'image_url_unsupported',
    at,
    `Expected a data: URL in base64 at '${at}': images are not fetched. Send the image itself, as data:image/png;base64,...`,
  );
};

/** Base64 as a data URL, whether it was sent as one or as the data alone. */
const parseBase64 = (data: string, mime: string, at: string): Pick<PromptFile, 'mime' | 'url'> => {
  const given = dataUrlMime(data);
  if (given !== undefined) return { mime: given, url: data };
  if (isBase64(data)) return { mime, url: `data:${mime};base64,${data}` };
  throw invalidValue(at, 'expected base64, or a data: URL in base64');
};

/** A recording, as OpenAI's `input_audio` holds it. */
const parseAudio = ({ data, format }: { data: string; format: string }, at: string): PromptFile => {
  if (!/^[\w.+-]{1,40}$/.test(format)) throw invalidValue(`${at}.format`, 'expected a format such as "wav"');
  const name = format.toLowerCase();
  return { type: 'file', at, ...parseBase64(data, AUDIO_MIMES.get(name) ?? `audio/${name}`, `${at}.data`) };
};

const isGiven = (value: string | null | undefined): boolean => value !== undefined && value !== null;

/** Files that are named by an id were uploaded to a server that stores them. */
const unknownFile = (at: string, next: string) => unsupportedValue(at, `no files are stored here. ${next}`);

const maybeText = v.nullish(v.string());
const File = v.object({ file_data: maybeText, filename: maybeText, file_id: maybeText, file_url: maybeText });

/** A file in the request. One that is only named by an id or a URL is refused: none are stored here, and none fetched. */
const parseFile = ({ file_data, filename, file_id, file_url }: v.InferOutput<typeof File>, at: string): PromptFile => {
  if (file_data === undefined || file_data === null) {
    if (isGiven(file_id)) throw unknownFile(`${at}.file_id`, "Send the file itself in 'file_data', in base64");
    if (isGiven(file_url))
      throw unsupportedValue(`${at}.file_url`, "files are not fetched. Send the file itself in 'file_data', in base64");
    throw missingMember(`${at}.file_data`);
  }
  const name = filename?.trim().slice(-NAME_CHARS) ?? '';
  const mime = MIMES.get(/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '') ?? UNKNOWN_MIME;
  return {
    type: 'file',
    at,
    ...parseBase64(file_data, mime, `${at}.file_data`),
    ...(name === '' ? {} : { filename: name }),
  };
};

/** The parts of chat completions and, beginning with `input_` and `output_`, those of responses. */
const Part = v.variant('type', [
  v.object({ type: v.picklist(['text', 'input_text', 'output_text']), text: v.string() }),
  v.object({ type: v.literal('refusal'), refusal: v.string() }),
  v.object({ type: v.literal('image_url'), image_url: v.object({ url: v.string() }) }),
  v.object({ type: v.literal('input_image'), image_url: maybeText, file_id: maybeText }),
  v.object({ type: v.literal('input_audio'), input_audio: v.object({ data: v.string(), format: v.string() }) }),
  v.object({ type: v.literal('file'), file: File }),
  v.object({ type: v.literal('input_file'), ...File.entries }),
]);

const parsePart = (value: unknown, at: string): PromptPart => {
  const part = parseMember(Part, value, at);
  switch (part.type) {
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return parseImage(part.image_url.url, `${at}.image_url.url`);
    case 'input_image':
      if (!isGiven(part.image_url) && isGiven(part.file_id))
        throw unknownFile(`${at}.file_id`, "Send the image itself in 'image_url', as a data: URL in base64");
      return parseImage(part.image_url ?? '', `${at}.image_url`);
    case 'input_audio':
      return parseAudio(part.input_audio, `${at}.input_audio`);
    case 'file':
      return parseFile(part.file, `${at}.file`);
    case 'input_file':
      return parseFile(part, at);
    default:
      return { type: 'text', text: part.text };
  }
};

/** A text as a part of a prompt. */
export const textPart = (text: string): PromptPart => ({ type: 'text', text });

const isBlank = (part: PromptPart): boolean => part.type === 'text' && part.text.trim() === '';

/** A message's content as parts of a prompt, without blank texts. `at` is its path in the body. */
export const parseContent = (content: unknown, at: string): readonly PromptPart[] => {
  if (content === undefined || content === null) return [];
  if (typeof content !== 'string' && !Array.isArray(content))
    throw wrongType(at, 'a string, an array of parts or null');
  const parts: readonly PromptPart[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : content.map((part, index) => parsePart(part, `${at}[${index}]`));
  return parts.filter((part) => !isBlank(part));
};

/** The same with adjacent texts joined, because agents limit the number of parts. */
export const joinAdjacentTexts = (parts: readonly PromptPart[]): readonly PromptPart[] => {
  const joined: PromptPart[] = [];
  for (const part of parts) {
    const before = joined.at(-1);
    if (part.type === 'text' && before?.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: `${before.text}\n\n${part.text}` };
    else joined.push(part);
  }
  return joined;
};
