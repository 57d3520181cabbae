const WORD =
  '(?:al(?:ph|f)a|bravo|charlie|delta|echo|fox-?trot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|x-?ray|yankee|zulu)';
// Every message has a vowel, and these words are quick to look for.
const HINT = /al(?:f|ph)a|echo|india|oscar|uniform|yankee/i;
const RUN = new RegExp(`\\b${WORD}(?:[\\s,.;:/|_-]+${WORD}){3,}\\b`, 'gi');
const EACH = new RegExp(`(${WORD})([\\s,.;:/|_-]*)`, 'gi');

/** Four and more words of the spelling alphabet in a row, as the letters they stand for. */
export const nato = (text: string): string =>
  !HINT.test(text)
    ? text
    : text.replace(RUN, (run) =>
        run.replace(
          EACH,
          (_, word: string, gap: string) => word.slice(0, 1).toLowerCase() + (/[/|\n]|\s{2}/.test(gap) ? ' ' : ''),
        ),
      );
