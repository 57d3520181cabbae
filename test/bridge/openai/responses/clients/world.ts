import OpenAI from 'openai';
import { textOfParts } from '../../../../../src/bridge/request.ts';
import type { SentMessage } from '../../../../../src/bridge/turns/port.ts';
import { ended, failed, textEvents, thought } from '../../../harness/recorded-outputs.ts';
import { BESIDE, type ResponsesWorld, responseID } from '../world.ts';

/** An answer with reasoning before its text. */
export const THINKING = [thought('r', 'Let me ', 'think'), textEvents('a', 'Hello'), ended()] as const;
/** An answer with a call of the agent in its middle. */
export const WORKING = [
  thought('r', 'Hm'),
  textEvents('a', 'I look.'),
  BESIDE,
  textEvents('b', 'Five.'),
  ended(),
] as const;
/** An answer without a word. */
export const SILENT = [BESIDE, ended()] as const;
/** An answer that fails after its first words. */
export const BROKEN = [textEvents('a', 'I look.'), failed()] as const;
/** An answer that fails before anything was said. */
export const BROKEN_AT_ONCE = [failed()] as const;
/** An answer that is not whole. */
export const CUT = [textEvents('a', 'I look'), ended({ finish: 'length' })] as const;
/** The text of `WORKING`. */
export const WORDS = 'I look.\n\nFive.';
/** What goes on after the first response. */
export const AFTER = { kind: 'after', responseID: responseID() };
/** A message of one word, in short. */
export const MORE = [{ role: 'user', text: 'More' }];

const wordsOf = (message: SentMessage): string => {
  if (message.role === 'user') return textOfParts(message.parts);
  return (message.role === 'tool' ? message.output : (message.text ?? '')).replace(/\s+/g, ' ');
};
/** Messages in short: their words, with single blanks. */
export const inShort = (messages: readonly SentMessage[] = []) =>
  messages.map((message) => ({ role: message.role, text: wordsOf(message) }));

/** What a client has said once more, as conversations are recognised by it. */
export const repeated = ({ asked }: ResponsesWorld) => inShort(asked[1]?.history);

/** What a conversation holds that went on after `WORKING`. */
export const REPORTED = [
  { role: 'user', text: 'Hello' },
  { role: 'assistant', text: 'I look. Five.' },
];

/** OpenAI's client of this server. */
export const openaiOver = ({ baseURL, fetch }: ResponsesWorld): OpenAI =>
  new OpenAI({ apiKey: 'sk-test', baseURL, fetch });
