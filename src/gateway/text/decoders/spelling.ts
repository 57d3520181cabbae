import { fluency } from '../hidden/english.ts';

const HINT = /[a-z][013457@$!]+[a-z]/i;
// Addresses come first, to be passed over whole.
const TOKEN = /[a-z]{2,9}:\/\/\S+|[\w.+-]{1,64}@[\w-]{1,64}\.\S+|[a-z\d@$!]{2,}/gi;
const SIGN = /[013457@$!]/g;
const LETTER_OF: ReadonlyMap<string, string> = new Map(
  [...'013457@$!'].map((sign, index) => [sign, 'oieastasi'.charAt(index)]),
);

// What only looks like it: codes and formulas (H1N1, CH3OH), hexadecimal ids, numbers with units, log4j, l10n, handles.
const ORDINARY =
  /^(?:[\da-f]{6,}|(?:\d+[a-z]{1,3})+|[a-z]1[01][a-z]|[a-z]+\d+k|.*4j.*|ipv4\w*|@\w+|\w+@(?:latest|next)|.*!!.*)$/i;
const FORMULA = /^(?:(?:[A-Z]\d{1,2}){2,}|[CHNOS3457]+|.*![A-Z].*)$/;
// Names of programs and random ids change case inside.
const ONE_CASE = /^(?:[A-Z]?[a-z]+|[A-Z]+)$/;
const SURE = /[b-df-hj-np-tv-z][0134@!][b-df-hj-np-tv-z]|[a-z][013457@$!]+[a-z]+[013457@$!]/i;
const WORD_LEVEL = 5.7;

const written = (token: string, one: string): string =>
  token.replace(SIGN, (sign) => (sign === '1' ? one : (LETTER_OF.get(sign) ?? sign)));

const readingOf = (token: string): string => {
  const [withI, withL] = [written(token, 'i'), written(token, 'l')];
  return fluency(withL) > fluency(withI) + 0.5 ? withL : withI;
};

const mayBeLeet = (token: string): boolean =>
  HINT.test(token) &&
  !/[2689]|:\/\/|\./.test(token) &&
  !ORDINARY.test(token) &&
  fluency(readingOf(token)) >= WORD_LEVEL;
const isLeet = (token: string): boolean =>
  mayBeLeet(token) && !FORMULA.test(token) && ONE_CASE.test(token.replace(/[^A-Za-z]+/g, ''));

/** Half for short codes in capitals (SW1A), two for what can hardly be anything else. */
const weightOf = (token: string): number => {
  if (token.length < 5) return token === token.toUpperCase() ? 0.5 : 1;
  return SURE.test(token) && /\d/.test(token) ? 2 : 1;
};
// Long runs of random letters and digits hold a few by chance.
const leastWeight = (text: string): number => 2 + Math.floor(text.length / 10_000);

const isShort = (token: string): boolean =>
  token.length <= 3 && /[a-z]/i.test(token) && !/[2689]/.test(token) && !/^\d+[a-z]{2}$/.test(token);

/** Words with digits and signs for letters. One short word proves nothing; two, or one long one, do. */
export const leet = (text: string): string => {
  if (!HINT.test(text)) return text;
  let weight = 0;
  for (const token of new Set(text.match(TOKEN))) weight += isLeet(token) ? weightOf(token) : 0;
  if (weight < leastWeight(text)) return text;
  return text.replace(TOKEN, (token) => (isShort(token) || mayBeLeet(token) ? readingOf(token) : token));
};
