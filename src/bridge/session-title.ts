import { UNSEEN_CHARACTERS } from '../core/unseen.ts';
import { type PromptPart, wordsOf } from './openai/request.ts';

const TITLE_CHARS = 60;
const LOOKED_AT_CHARS = 1000;
const UNTITLED = 'Conversation';

/** A title for a session: its first words, in one line. With one the agent need not ask a model for it. */
export const sessionTitleFor = (prompt: readonly PromptPart[]): string => {
  const line = wordsOf(prompt).slice(0, LOOKED_AT_CHARS).replace(/\s+/g, ' ').replace(UNSEEN_CHARACTERS, '').trim();
  const points = [...line];
  if (points.length <= TITLE_CHARS) return line === '' ? UNTITLED : line;
  const cut = points.slice(0, TITLE_CHARS - 1).join('');
  return `${cut.replace(/ +\S*$/, '')}…`;
};
