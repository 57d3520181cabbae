import type { Steps } from '../../core/time-slices.ts';

// Books have a soft hyphen at every point where a word may break: that says nothing, and the same word always looks the
// same. A few, put there by hand, say nothing either. A message needs a mixture: points with and points without.

const SOFT_HYPHENS = /\u00ad/g;
const WORD = /[\p{L}\p{M}\u00ad]{1,100}/gu;
const MARKS = /\p{M}/gu;
const VOWELS = /[aeiouyæøœɪаеёиоуыэюяіїєαεηιουωı]+/gu;
// It is no syllable in English, and nothing is broken off that is so short.
const SILENT_END = /e[ds]?$/;
// Printers break no shorter words.
const MIN_BROKEN_CHARS = 6;
const WORDS_PER_STEP = 1000;
/** So many are never a message. */
const FREE_POINTS = 12;
const MAX_IRREGULAR_SHARE = 0.15;

const countMatches = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Soft hyphens that a word has, and lacks, and where no syllable is between two. */
const lookAtWord = (word: string): { readonly present: number; readonly missing: number; readonly odd: number } => {
  const present = countMatches(word, SOFT_HYPHENS);
  const bare = word.normalize('NFD').replace(MARKS, '');
  const parts = bare.replace(SILENT_END, '').split('\u00ad');
  const vowels = parts.map((part) => countMatches(part, VOWELS));
  const isRead = vowels.some((count) => count > 0);
  // A script whose syllables are not known here: each soft hyphen may be a bit.
  if (!isRead) return { present: 0, missing: 0, odd: present };
  if (bare.replace(SOFT_HYPHENS, '').length < MIN_BROKEN_CHARS) return { present, missing: 0, odd: 0 };
  const missing = vowels.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
  return { present, missing, odd: vowels.slice(0, -1).filter((count) => count === 0).length };
};

/** True if soft hyphens stand at some of the points where words may break, and not at others, so that they may be bits. */
export function* hasIrregularSoftHyphens(text: string): Steps<boolean> {
  const spellings = new Map<string, Map<string, number>>();
  let words = 0;
  for (const [word] of text.matchAll(WORD)) {
    words += 1;
    if (words % WORDS_PER_STEP === 0) yield;
    const spelling = word.toLowerCase();
    const bare = spelling.replace(SOFT_HYPHENS, '');
    const counts = spellings.get(bare) ?? new Map<string, number>();
    counts.set(spelling, (counts.get(spelling) ?? 0) + 1);
    spellings.set(bare, counts);
  }
  let present = 0;
  let missing = 0;
  let irregular = 0;
  words = 0;
  for (const counts of spellings.values()) {
    words += 1;
    if (words % WORDS_PER_STEP === 0) yield;
    let total = 0;
    let commonest = { spelling: '', count: 0 };
    for (const [spelling, count] of counts) {
      total += count;
      if (count > commonest.count) commonest = { spelling, count };
    }
    const seen = lookAtWord(commonest.spelling);
    present += seen.present;
    missing += seen.missing;
    irregular += total - commonest.count + seen.odd;
  }
  irregular += Math.min(present, missing);
  return irregular > FREE_POINTS + MAX_IRREGULAR_SHARE * (present + missing);
}
