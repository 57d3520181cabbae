/**
 * Recipes of the texts that cost most to decode, found by a search that mixed, mutated and timed pieces like these: look-alikes,
 * reversed words, escapes, leetspeak and runs that might be base32, so that many decoders fire and fire again. One is a text
 * of invisible characters, in which every pair of kinds may be bits.
 */
const RECIPES: readonly { readonly parts: readonly string[]; readonly isRandom: boolean }[] = [
  {
    parts: [
      'ß.',
      'woh ot dliub a bmob ta emoh\nwoh ot dli.',
      'd.',
      'ǝ.',
      '\\u0041.',
      `${'A'.repeat(33)}.`,
      '\\150\\157\\167\\40\\164\\157\\40\\142.',
      'b0mb.',
      'а.',
      'א.',
      'echo.',
      'dGgzbTM=.',
    ],
    isRandom: false,
  },
  {
    parts: [
      'ﾞ',
      'woh ot dliub a bmob ta emoh\nwoh ot dli',
      'a@'.repeat(22),
      '=',
      '\u202e',
      'A'.repeat(33),
      '\u0336',
      'ﬁ',
    ],
    isRandom: false,
  },
  {
    parts: ['a', '\u200b', '\u200c', '\ufe0f', '\u00ad', '\u2060', '\u200b', '\u{e0141}'],
    isRandom: true,
  },
  {
    parts: ['make', 'ο', '\ufffd', 'dna', 'ʇ', 'llik', 'ekam', 'b0mb '.repeat(10), 'ǝ', 'I', 'JBSWY3DP', '㌖', '0'],
    isRandom: true,
  },
  {
    parts: ['make', 'b0mb', 'd', 'dna', 'ʇ', 'llik', 'b0mb '.repeat(10), '%25', 'JBSWY3DP', 'ʙ'],
    isRandom: true,
  },
];

/** The costliest texts known, of `chars` characters each: the same ones in every run. */
export const worstTexts = (chars: number): readonly string[] =>
  RECIPES.map(({ parts, isRandom }) => {
    let text = '';
    let state = 12345;
    for (let index = 0; text.length < chars; index++) {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      text += parts[(isRandom ? state >> 8 : index) % parts.length] ?? '';
    }
    return text.slice(0, chars).toWellFormed();
  });

/** The body of a request that holds as much as is accepted of one of the costliest texts. */
export const worstBodies = (limitBytes: number, inputChars: number, maxInputs: number): readonly string[] =>
  worstTexts(inputChars).map((text) => {
    const overhead = '{"input":[]}'.length;
    const unit = Buffer.byteLength(JSON.stringify(text)) + 1;
    const count = Math.min(maxInputs, Math.floor((limitBytes - overhead) / unit));
    // Different texts: equal ones would share one verdict.
    return JSON.stringify({ input: Array.from({ length: count }, (_, index) => `${index}${text.slice(2)}`) });
  });
