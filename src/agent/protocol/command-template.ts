/** The whole arguments, or one of them by its number from 1. */
const PLACEHOLDER = /\$(ARGUMENTS|[1-9]\d{0,2})/g;
/** OpenCode's, but a quote inside of a word belongs to it, as in `don't`. `[Image 1]` is how its terminal names a picture. */
const ARGUMENT = /\[Image\s+\d+\]|"([^"]*)"(?!\S)|'([^']*)'(?!\S)|\S+/gi;

const namesIn = (template: string): readonly string[] =>
  [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
const isNumber = (name: string): boolean => name !== 'ARGUMENTS';

/** Half a million words would take longer than an event loop may be held for. */
const WORDS_LIMIT = 10_000;

/** The words, and behind so many of them the rest as it is. */
const wordsIn = (given: string): readonly string[] => {
  const words: string[] = [];
  for (const { 0: word, 1: double, 2: single, index } of given.matchAll(ARGUMENT)) {
    if (words.length === WORDS_LIMIT) return [...words, given.slice(index).trim()];
    words.push(double ?? single ?? word);
  }
  return words;
};

/** The placeholders of a command's template as clients show them: the numbered ones in order, then `$ARGUMENTS`. */
export const placeholdersOf = (template: string): readonly string[] => {
  const names = [...new Set(namesIn(template))];
  const numbers = names.filter(isNumber).toSorted((left, right) => Number(left) - Number(right));
  return [...numbers, ...names.filter((name) => !isNumber(name))].map((name) => `$${name}`);
};

/**
 * The text of a command (OpenCode 1.x): `$1` and so on are its arguments, which are words, or what is in quotes; the highest
 * number takes all that are left, and one that is not given is empty. `$ARGUMENTS` is the whole text. Without a placeholder
 * the arguments follow the template. What stands in the arguments is never taken for a placeholder.
 */
export const expandTemplate = (template: string, given: string): string => {
  const names = namesIn(template);
  if (names.length === 0)
    return [template, given]
      .filter((text) => text.trim() !== '')
      .join('\n\n')
      .trim();
  const words = wordsIn(given);
  const highest = Math.max(0, ...names.filter(isNumber).map(Number));
  const textOf = (name: string): string => {
    if (!isNumber(name)) return given;
    const place = Number(name) - 1;
    return place + 1 === highest ? words.slice(place).join(' ') : (words[place] ?? '');
  };
  const texts = new Map([...new Set(names)].map((name) => [name, textOf(name)]));
  return template.replace(PLACEHOLDER, (_, name: string) => texts.get(name) ?? '').trim();
};
