import * as v from 'valibot';
import { TITLE_CHARS } from './title.ts';
import { NAME_CHARS, TextUpTo } from './tool-schemas.ts';

/** A `data:` URL, taken apart but not decoded. */
type DataUrl = { readonly isBase64: boolean; readonly data: string };

const START = /^data:[\w.+-]{1,100}\/[\w.+-]{1,100}(;[^,]{0,200})?,/;
const NO_BASE64 = /[^A-Za-z0-9+/]/;

/** Parses a `data:` URL; undefined when it is none, or has no media type. */
export const parseDataUrl = (url: string): DataUrl | undefined => {
  const [start, parameters = ''] = START.exec(url) ?? [];
  if (start === undefined) return undefined;
  return { isBase64: /;base64$/i.test(parameters), data: url.slice(start.length) };
};

const withoutPadding = (data: string): string => {
  if (data.endsWith('==')) return data.slice(0, -2);
  return data.endsWith('=') ? data.slice(0, -1) : data;
};
const hasValidEscapes = (data: string): boolean => {
  try {
    decodeURIComponent(data);
    return true;
  } catch {
    return false;
  }
};

/** What is expected of malformed data, undefined for sound data. A malformed file cannot be sent to any model. */
export const dataUrlError = ({ isBase64, data }: DataUrl): string | undefined => {
  if (!isBase64) return hasValidEscapes(data) ? undefined : 'text in UTF-8 with sound percent escapes behind the comma';
  const isSound = data.length % 4 === 0 && !NO_BASE64.test(withoutPadding(data));
  return isSound ? undefined : 'base64 behind the comma, padded and without blanks';
};

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:\s*;[ -~]*)?$/;
const DATA_URL = 'a data: URL with a media type; files of the server are not read';

/** A malformed file could not be sent to a model later either: the session could never be answered again. */
const DataUrlText = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const url = parseDataUrl(dataset.value);
    const expected = url === undefined ? DATA_URL : dataUrlError(url);
    if (expected !== undefined) addIssue({ expected });
  }),
);

/** The size of a value as JSON in UTF-8. */
export const bytesAsJson = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;
const METADATA_BYTES = 1024;
/** Of a program for itself, as OpenCode keeps it of texts: no model is shown it. */
const PartMetadata = v.pipe(
  v.record(v.string(), v.unknown()),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && bytesAsJson(dataset.value) > METADATA_BYTES)
      addIssue({ expected: `an object of at most ${METADATA_BYTES} bytes as JSON` });
  }),
);
const metadata = v.optional(PartMetadata);

const TextBody = v.object({ type: v.literal('text'), text: v.string(), synthetic: v.optional(v.boolean()), metadata });
/** A file, as clients send it. */
export const FileBody = v.object({
  metadata,
  type: v.literal('file'),
  mime: v.pipe(TextUpTo(NAME_CHARS), v.regex(MEDIA_TYPE)),
  filename: v.optional(TextUpTo(TITLE_CHARS)),
  url: DataUrlText,
});
const PartBody = v.variant('type', [
  v.object({ ...TextBody.entries, id: v.optional(v.string()) }),
  v.object({ ...FileBody.entries, id: v.optional(v.string()) }),
]);
type PartBody = v.InferOutput<typeof PartBody>;

const PARTS_LIMIT = 100;
/** Whether there is anything to answer: a file, or a text that is not blank. */
export const isAnswerable = (part: PartBody): boolean => part.type === 'file' || part.text.trim() !== '';
/** The parts of a prompt. At least one must be a file or a text that is not blank. */
export const PromptParts = v.pipe(
  v.array(PartBody),
  v.minLength(1),
  v.maxLength(PARTS_LIMIT),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && !dataset.value.some(isAnswerable))
      addIssue({ expected: 'a text that is not blank, or a file' });
  }),
);
/** The parts that follow the text of a command, if there are any. */
export const CommandParts = v.pipe(v.array(PartBody), v.maxLength(PARTS_LIMIT - 1));

const place = { id: v.string(), sessionID: v.string(), messageID: v.string() };
/** A part as a client wants it to be from now on. What a call or a step did is not changed. */
export const PartChangeBody = v.variant('type', [
  v.object({ ...TextBody.entries, ...place }),
  v.object({ ...FileBody.entries, ...place }),
]);
