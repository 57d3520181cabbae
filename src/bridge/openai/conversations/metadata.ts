import { isRecord } from '../../../core/json.ts';
import { invalidValue, wrongType } from '../../request.ts';

/** OpenAI's limits. */
const PAIRS = 16;
const NAME_CHARS = 64;
const TEXT_CHARS = 512;

/** The member `metadata` of a body; none is empty. Faults with `bad-input`. */
export const parseMetadata = (metadata: unknown): Readonly<Record<string, string>> => {
  if (metadata === undefined || metadata === null) return {};
  if (!isRecord(metadata)) throw wrongType('metadata', 'Object');
  const pairs = Object.entries(metadata);
  const fits = pairs.every(
    ([name, text]) => name.length <= NAME_CHARS && typeof text === 'string' && text.length <= TEXT_CHARS,
  );
  if (pairs.length <= PAIRS && fits)
    return Object.fromEntries(pairs.map(([name, text]) => [name, String(text).toWellFormed()]));
  const expected = `at most ${PAIRS} texts of at most ${TEXT_CHARS} characters, under names of at most ${NAME_CHARS}`;
  throw invalidValue('metadata', `expected ${expected}`);
};
