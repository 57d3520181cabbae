import * as v from 'valibot';
import { dataComplaint, dataUrl } from './data-url.ts';

/** The longest title, and the longest name of a file. */
export const TITLE_CHARS = 500;
/** The longest name of anything else. */
export const NAME_CHARS = 200;
/** A text of at most so many characters. */
export const Text = (limit: number) => v.pipe(v.string(), v.maxLength(limit));

/** What a part may be, in words. */
export const PART_TYPES = 'text or file';
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:\s*;[ -~]*)?$/;
const DATA_URL = 'a data: URL with a media type; files of the server are not read';

/** A file that cannot be told to a model now could not be told to any later: the session would be broken for good. */
const DataUrlIn = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const url = dataUrl(dataset.value);
    const complaint = url === undefined ? DATA_URL : dataComplaint(url);
    if (complaint !== undefined) addIssue({ expected: complaint });
  }),
);

const PartIn = v.variant('type', [
  v.object({
    type: v.literal('text'),
    id: v.optional(v.string()),
    text: v.string(),
    synthetic: v.optional(v.boolean()),
  }),
  v.object({
    type: v.literal('file'),
    id: v.optional(v.string()),
    mime: v.pipe(Text(NAME_CHARS), v.regex(MEDIA_TYPE)),
    filename: v.optional(Text(TITLE_CHARS)),
    url: DataUrlIn,
  }),
]);
type PartIn = v.InferOutput<typeof PartIn>;

const saysSomething = (part: PartIn): boolean => part.type === 'file' || part.text.trim() !== '';
/** What a prompt says: something must be there to be answered. */
export const Parts = v.pipe(
  v.array(PartIn),
  v.minLength(1),
  v.maxLength(100),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && !dataset.value.some(saysSomething))
      addIssue({ expected: 'a text that is not blank, or a file' });
  }),
);
