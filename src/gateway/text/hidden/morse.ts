// A mark's place is found by walking from 1: a dot doubles it, a dash doubles it and adds one.
const LETTERS = '  etianmsurwdkgohvfüläpjbxcyzqöŝ54 3   2       16       7   8 90';
const RUN = /[.·•*_–—−-]{1,6}(?:[ \n\t/|]+[.·•*_–—−-]{1,6}){4,}/g;

const letterOf = (mark: string): string => {
  let place = 1;
  for (const sign of mark) place = place * 2 + (/[.·•*]/.test(sign) ? 0 : 1);
  return LETTERS[place]?.trim() || '?';
};

const decoded = (run: string): string => {
  const words = run.split(/\s*[/|\n]\s*|\s{2,}/).map((word) => word.split(/\s+/).map(letterOf).join(''));
  const letters = words.join('');
  const known = letters.replaceAll('?', '');
  return known.length >= 5 && known.length >= letters.length * 0.8 && new Set(known).size >= 3 ? words.join(' ') : run;
};

/** Morse code of five letters and more. Rules, bullets and dot leaders spell too few different letters to count. */
export const morse = (text: string): string => text.replace(RUN, decoded);
