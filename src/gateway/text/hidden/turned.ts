// Text turned by half a circle, a to z, with second forms of some letters.
const FORMS = 'ɐqɔpǝɟƃɥᴉɾʞןɯuodbɹsʇnʌʍxʎzıꞁləƎƆⅎ';
const LETTERS = 'abcdefghijklmnopqrstuvwxyzilleecf';
const letterOf: ReadonlyMap<string, string> = new Map([...FORMS].map((form, index) => [form, LETTERS.charAt(index)]));

const RUN = new RegExp(
  `(?<![\\p{L}/[])[${FORMS}HIMNOSWXZ](?:[${FORMS}HIMNOSWXZ ,.'˙¿¡]*[${FORMS}HIMNOSWXZ])?(?![\\p{L}/\\]])`,
  'gu',
);
// Phonetic writing shares most of the turned letters, but not these.
const NOT_PHONETIC = /[ǝʇʞƃᴉןꞁƎƆⅎ]/;
const ANY_TURNED = /[ɐɔǝɟƃɥᴉɾʞןɯɹʇʌʍʎꞁƎƆⅎ]/gu;
const LEAST_TURNED = 2;

const decoded = (run: string): string => {
  const turned = run.match(ANY_TURNED)?.length ?? 0;
  if (run.length < 3 || turned < LEAST_TURNED || !NOT_PHONETIC.test(run)) return run;
  return [...run]
    .reverse()
    .map((char) => letterOf.get(char) ?? char)
    .join('');
};

/** Upside-down letters, read from the end as they are meant to be. */
export const turned = (text: string): string => (NOT_PHONETIC.test(text) ? text.replace(RUN, decoded) : text);
