const HINT = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/u;
const DISC_OR_SQUARE = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
// A single one is an ordinary pictogram (blood group, parking): letters must stand together with others.
const WORD =
  /(?=[A-Za-z]{0,2}[\u{1f150}-\u{1f189}])[A-Za-z\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]{3}|[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}](?: [\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]){2}/u;
const INDICATORS = /[\u{1f1e6}-\u{1f1ff}](?: ?[\u{1f1e6}-\u{1f1ff}])*/gu;
const letters = (chars: string, first: number): string =>
  chars.replace(/[\u{1f150}-\u{1f1ff}]/gu, (char) =>
    String.fromCharCode(97 + (((char.codePointAt(0) ?? 0) - first) % 32)),
  );

let regions: Intl.DisplayNames | undefined;
const isRegion = (pair: string): boolean => {
  // Costs as much as reading a page: made once, and only for texts that have such letters.
  regions ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  return regions.of(pair) !== undefined;
};

/** Ordinary flags are pairs that name a region; the runtime knows which do. */
const isNoFlags = (run: string): boolean => {
  if (run.length <= 5) return false;
  const pairs = letters(run, 0x1f1e6).replaceAll(' ', '').toUpperCase().match(/../g) ?? [];
  return !pairs.every(isRegion);
};

/** White letters on black discs and squares, and flag letters that form no flags. NFKC leaves these three as they are. */
export const enclosed = (text: string): string => {
  if (!HINT.test(text)) return text;
  const view = WORD.test(text) ? text.replace(DISC_OR_SQUARE, (char) => letters(char, 0x1f150)) : text;
  return (view.match(INDICATORS) ?? []).some(isNoFlags)
    ? view.replace(INDICATORS, (run) => letters(run, 0x1f1e6))
    : view;
};
