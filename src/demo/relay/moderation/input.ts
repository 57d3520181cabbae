import * as v from 'valibot';
import { parseJson } from '../../../core/json.ts';

/** What the platform has judged of a chat: a text, and the URL of an image. */
export type ModerationInput = { readonly text: string; readonly imageUrl: string | undefined };

const MAX_CHARS = 12_000;

const Part = v.object({
  text: v.optional(v.string()),
  image_url: v.optional(v.object({ url: v.string() })),
});
const Chat = v.object({
  messages: v.array(v.object({ role: v.string(), content: v.union([v.string(), v.array(Part)]) })),
});

/**
 * The last message of a chat if it is the user's: its texts with single spaces, its first 12,000 characters, and one of its images
 * (the platform draws it, here it is the first). Undefined where there is nothing to judge.
 */
export const moderationInputOf = (body: string): ModerationInput | undefined => {
  const last = parseJson(Chat, body)?.messages.at(-1);
  if (last?.role !== 'user') return undefined;
  const parts = typeof last.content === 'string' ? [{ text: last.content }] : last.content;
  const words = parts.flatMap(({ text }) => text ?? []).join(' ');
  const text = [...words.trim().replace(/\s+/g, ' ')].slice(0, MAX_CHARS).join('');
  const [imageUrl] = parts.flatMap((part) => ('image_url' in part ? (part.image_url?.url ?? []) : []));
  return text === '' && imageUrl === undefined ? undefined : { text, imageUrl };
};

/** The `input` of the call: a text, or parts as soon as there is an image. */
export const toRequestInput = ({ text, imageUrl }: ModerationInput): unknown => {
  if (imageUrl === undefined) return text;
  const texts = text === '' ? [] : [{ type: 'text', text }];
  return [...texts, { type: 'image_url', image_url: { url: imageUrl } }];
};
