/** A piece of a text as it may be shown: as it is, or the name of a character that would not be seen, and how often it stands there. */
export type TextRun =
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'hidden'; readonly name: string; readonly meaning: string; readonly count: number };

/**
 * Characters that a reader does not see or that change what the others look like: controls, direction marks, zero width,
 * tags, fillers, unpaired surrogates. Line feeds and tabs are layout. A joiner between emoji belongs to them, as does the
 * choice between a coloured and a plain one.
 */
const HIDDEN =
  /(?<!\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})\u200d|(?!\u200d|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}|[^\P{Cc}\n\t]|[\u2028\u2029\ufff9-\ufffb]|\p{Cs}/gu;

const MEANINGS: Readonly<Record<string, string>> = {
  '0000': 'null',
  '0008': 'backspace',
  '000D': 'carriage return',
  '001B': 'escape',
  '007F': 'delete',
  '00AD': 'soft hyphen',
  '061C': 'Arabic letter mark',
  '200B': 'zero width space',
  '200C': 'zero width non-joiner',
  '200D': 'zero width joiner',
  '200E': 'left-to-right mark',
  '200F': 'right-to-left mark',
  '2028': 'line separator',
  '2029': 'paragraph separator',
  '202A': 'left-to-right embedding',
  '202B': 'right-to-left embedding',
  '202C': 'end of direction',
  '202D': 'left-to-right override',
  '202E': 'right-to-left override',
  '2060': 'word joiner',
  '2066': 'left-to-right isolate',
  '2067': 'right-to-left isolate',
  '2068': 'first strong isolate',
  '2069': 'end of isolate',
  FEFF: 'byte order mark',
};

const codeOf = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

const meaningOf = (character: string, code: string): string => {
  const known = MEANINGS[code];
  if (known !== undefined) return known;
  if (/\p{Cs}/u.test(character)) return 'half of a character';
  if (/\p{Cc}/u.test(character)) return 'control character';
  return /[\u{e0000}-\u{e007f}]/u.test(character) ? 'tag character' : 'invisible character';
};

/** Splits a text into what can be shown as it is and hidden characters by name. The same one in a row is counted. */
export const textRuns = (text: string): readonly TextRun[] => {
  const runs: TextRun[] = [];
  let from = 0;
  const addPlain = (to: number): void => {
    if (to > from) runs.push({ kind: 'plain', text: text.slice(from, to) });
  };
  // A line break of Windows is one.
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (character === '\r' && text[index + 1] === '\n') {
      addPlain(index);
      from = index + 1;
      continue;
    }
    addPlain(index);
    const before = index === from ? runs.at(-1) : undefined;
    const code = codeOf(character);
    const name = `U+${code}`;
    if (before?.kind === 'hidden' && before.name === name)
      runs[runs.length - 1] = { ...before, count: before.count + 1 };
    else runs.push({ kind: 'hidden', name, meaning: meaningOf(character, code), count: 1 });
    from = index + character.length;
  }
  addPlain(text.length);
  return runs;
};

/** The first `limit` code units of a text, without half of a character at the end. */
export const firstPart = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const isHalf = /[\ud800-\udbff]/.test(text[limit - 1] ?? '') && /[\udc00-\udfff]/.test(text[limit] ?? '');
  return text.slice(0, isHalf ? limit - 1 : limit);
};

/** A text in one line for where no elements can be, such as the title of the tab: hidden characters are left out. */
export const plainLine = (text: string, limit: number): string => {
  const line = firstPart(text, limit * 4)
    .replaceAll(HIDDEN, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > limit ? `${firstPart(line, limit - 1)}…` : line;
};
