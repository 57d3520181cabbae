import * as v from 'valibot';
import { badInput, readAs } from './bad-input.ts';
import { audioFrom, fileFrom, imageFrom } from './openai/content.ts';
import type { PromptPart } from './openai/request.ts';

const maybeText = v.nullish(v.string());
const FILE = { file_data: maybeText, filename: maybeText, file_id: maybeText, file_url: maybeText };

/** The parts of chat completions and, beginning with `input_` and `output_`, those of responses. */
const Part = v.variant('type', [
  v.object({ type: v.picklist(['text', 'input_text', 'output_text']), text: v.string() }),
  v.object({ type: v.literal('refusal'), refusal: v.string() }),
  v.object({ type: v.literal('image_url'), image_url: v.object({ url: v.string() }) }),
  v.object({ type: v.literal('input_image'), image_url: maybeText, file_id: maybeText }),
  v.object({ type: v.literal('input_audio'), input_audio: v.object({ data: v.string(), format: v.string() }) }),
  v.object({ type: v.literal('file'), file: v.object(FILE) }),
  v.object({ type: v.literal('input_file'), ...FILE }),
]);

const partFrom = (value: unknown, at: string): PromptPart => {
  const part = readAs(Part, value, at);
  switch (part.type) {
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return imageFrom(part.image_url.url, `${at}.image_url.url`);
    case 'input_image':
      // One that is named by an id of a file has no address, and no other place to come from.
      return imageFrom(part.image_url ?? '', `${at}.image_url`);
    case 'input_audio':
      return audioFrom(part.input_audio, `${at}.input_audio`);
    case 'file':
      return fileFrom(part.file, `${at}.file`);
    case 'input_file':
      return fileFrom(part, at);
    default:
      return { type: 'text', text: part.text };
  }
};

const isBlank = (part: PromptPart): boolean => part.type === 'text' && part.text.trim() === '';

/** A message's content as pieces of a prompt, without those that say nothing. `at` is its place in the body. */
export const partsFrom = (content: unknown, at: string): readonly PromptPart[] => {
  if (content === undefined || content === null) return [];
  if (typeof content !== 'string' && !Array.isArray(content))
    throw badInput('invalid_type', at, `Invalid type at '${at}': expected a string, an array of parts or null`);
  const parts: readonly PromptPart[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : content.map((part, index) => partFrom(part, `${at}[${index}]`));
  return parts.filter((part) => !isBlank(part));
};

/** The same with texts that follow each other in one: agents bound how many parts a prompt may have. */
export const withTextsJoined = (parts: readonly PromptPart[]): readonly PromptPart[] => {
  const joined: PromptPart[] = [];
  for (const part of parts) {
    const before = joined.at(-1);
    if (part.type === 'text' && before?.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: `${before.text}\n\n${part.text}` };
    else joined.push(part);
  }
  return joined;
};
