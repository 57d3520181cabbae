import { isRecord } from '../../../core/json.ts';
import { parseFirstKeys } from './first-keys.ts';

/** What the platform has judged of a request: a text, and the URL of an image. */
export type ModerationInput = { readonly text: string; readonly imageUrl: string | undefined };

const MAX_CHARS = 12_000;
const READ_TYPES: readonly unknown[] = [undefined, '', 'text', 'input_text', 'message'];
/** A text that has it anywhere is dropped: coding agents send such texts themselves. */
const REMINDER = '<system-reminder>';
const IMAGE_URL = /^(?:data:|https?:\/\/)/;

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Texts of parts of a type that it knows. What any other part holds is not seen. */
const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return value.includes(REMINDER) ? [] : [value];
  if (!isRecord(value)) return itemsOf(value).flatMap(textsOf);
  if (!READ_TYPES.includes(value.type)) return [];
  return [...(typeof value.text === 'string' ? textsOf(value.text) : []), ...textsOf(value.content)];
};

/** Images of parts of any type. */
const imagesOf = (value: unknown): readonly string[] => {
  if (!isRecord(value)) return itemsOf(value).flatMap(imagesOf);
  const { image_url: image, source } = value;
  const urls = [
    isRecord(image) ? image.url : image,
    isRecord(source) && /^image\//.test(`${source.media_type}`)
      ? `data:${source.media_type};base64,${source.data}`
      : '',
  ];
  return urls.flatMap((url) => (typeof url === 'string' && IMAGE_URL.test(url) ? [url] : []));
};

/** The last message if it is the user's; of `input` also a text, or a last item without a role. Nothing else is looked at. */
const judgedPart = (body: unknown): unknown => {
  if (!isRecord(body)) return undefined;
  if (typeof body.input === 'string') return body.input;
  const last = itemsOf(body.input ?? body.messages).at(-1);
  if (!isRecord(last)) return undefined;
  const isUsers = last.role === 'user' || (last.role === undefined && body.input !== undefined);
  return isUsers ? [last.content, ...(typeof last.text === 'string' ? [last.text] : [])] : undefined;
};

/**
 * What is judged of the body of a chat, a message, a response or embeddings: texts with single spaces, the first 12,000 characters, and
 * one of the images (the platform draws it, here it is the first). Undefined where there is nothing to judge, and then nobody is asked.
 */
export const moderationInputOf = (body: string): ModerationInput | undefined => {
  const judged = judgedPart(parseFirstKeys(body));
  const words = textsOf(judged).join(' ');
  const text = [...words.trim().replace(/\s+/g, ' ')].slice(0, MAX_CHARS).join('');
  const [imageUrl] = imagesOf(judged);
  return text === '' && imageUrl === undefined ? undefined : { text, imageUrl };
};

/** The `input` of the call: a text, or parts as soon as there is an image. */
export const toRequestInput = ({ text, imageUrl }: ModerationInput): unknown => {
  if (imageUrl === undefined) return text;
  const texts = text === '' ? [] : [{ type: 'text', text }];
  return [...texts, { type: 'image_url', image_url: { url: imageUrl } }];
};
