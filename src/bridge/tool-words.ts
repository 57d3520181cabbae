import type { PromptPart } from './openai/request.ts';
import { wordsOf } from './openai/request.ts';

const text = (words: string): PromptPart => ({ type: 'text', text: words });

/** A call of a tool elsewhere, in words: nothing else of it could be told to an agent that lacks that tool. */
export const calledInWords = (name: string, input: string): PromptPart =>
  text(`[called ${name}${input === '' ? '' : ` with ${input}`}]`);

/** What such a call came to, in words. Files stay files. */
export const returnedInWords = (name: string, parts: readonly PromptPart[]): readonly PromptPart[] => [
  text(`[${name} returned]\n${wordsOf(parts)}`),
  ...parts.filter((part) => part.type === 'file'),
];
