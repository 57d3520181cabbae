import fc from 'fast-check';
import { codePoint } from '../../code-points.ts';

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
const CLUSTER_UNITS = 64;

/** The graphemes of a text, those of more than 64 units cut at a character. Slow and plain, to compare with. */
export const graphemesOf = (text: string): readonly string[] => {
  const found: string[] = [];
  for (let rest = text; rest !== ''; rest = rest.slice(found.at(-1)?.length)) {
    const [first] = segmenter.segment(rest.slice(0, 400));
    const grapheme = first?.segment ?? '';
    if (grapheme.length <= CLUSTER_UNITS) found.push(grapheme);
    else {
      const isPair = /^[\ud800-\udbff][\udc00-\udfff]/.test(grapheme.slice(CLUSTER_UNITS - 1));
      found.push(grapheme.slice(0, isPair ? CLUSTER_UNITS - 1 : CLUSTER_UNITS));
    }
  }
  return found;
};

const shard = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 8 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '👨‍👩‍👧‍👦',
      '👍🏽',
      '🇫🇷🇩🇪🇯🇵',
      '🇫',
      '1️⃣',
      '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
      'กำลังทดสอบ',
      'नि क्षत्रिय',
      '\u1100\u1161\u11a8\u1100\uac00\u11a8',
      '한국어',
      '你好，世界。',
      'が、か\u3099',
      'e\u0301a\u0308',
      'line\r\nline\r\rline\n\n',
      '\u200d',
      '\ufe0f',
      '\u0600a',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 150 }).map((marks) => `z${'\u0301\u0323'.repeat(marks)}`),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((count) => `x${'👩\u200d'.repeat(count)}`) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }).map((count) => `${'\u{1f3fb}'.repeat(count)}`) },
  { weight: 1, arbitrary: fc.constantFrom('\ud83d', '\ude00', '\udc68\ud83d', '\ud83c\ud83c\udffd') },
);

/** Words in many scripts and whatever else may stand in a text, halves of characters included. */
export const anyText = fc.array(shard, { maxLength: 12 }).map((shards) => shards.join(''));

/** A text cut anywhere, also within a character. No part is empty. */
export const anyParts = fc
  .tuple(anyText, fc.array(fc.nat(400), { maxLength: 20 }))
  .map(([text, cuts]): readonly string[] => {
    const ends = [...new Set([...cuts.filter((cut) => cut < text.length), text.length])].sort((a, b) => a - b);
    return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end)).filter((part) => part !== '');
  });
