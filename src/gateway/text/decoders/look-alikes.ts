// Our own, beside tables of confusable letters: those rewrite ordinary French or Turkish as well. See
// docs/decisions/2026-11-22-three-parts-stay-our-own.md.
// Letters that look like the Latin one at the start of their group: Cyrillic, Greek, Armenian, Cherokee, Canadian syllabics,
// phonetic small capitals, currency signs.
const GROUPS =
  'aаАαΑɑᴀᎪᗩ₳ bвВьβΒʙᏴᗷ฿ cсСϲϹᴄᏟᑕ₵ dԁᴅᎠᗪժ eеЕёЁєЄεΕᴇᎬҽɆ fғҒϝꜰᖴք₣ gɡԍɢᏀց₲ hнНһҺΗʜᎻᕼհⱧ iіІїЇιΙɪᎥ jјЈϳᴊᎫᒍ kкКκΚᴋᏦҚқ₭ lӏӀʟᏞᒪⱠ mмМΜᴍᎷᗰ₥ nпиηΝɴոᑎ₦ oоОοΟσᴏօՕөӨᗝ pрРρΡᴘᏢᑭ₱ qԛԚǫզᑫ rгяЯʀᎡᖇⱤ sѕЅꜱᏚᔕ₴ tтТτΤᴛᎢ₮ uυμᴜսՍᑌцɄ vνѵѴᴠᏙᐯ wԝԜωᴡᏔᗯш₩ xхХχΧ᙭ҳӾ yуУγΥʏүҮᎽчɎ zᴢΖᏃⱫ';
const latinOf: ReadonlyMap<string, string> = new Map(
  GROUPS.split(' ').flatMap((group) => [...group].map((char) => [char, group.charAt(0)] as const)),
);
// For Cyrillic words with Latin letters in them.
const LATIN_TWINS = 'aceopxyikmtAaBCEHKMOPTX';
const CYRILLIC_TWINS = 'асеорхуікмтАаВСЕНКМОРТХ';

const WORD = /[\p{L}\p{M}₳฿₵₣₭₥₦₱₴₮₩]+/gu;
const CYRILLIC = /[Ѐ-ԯ]/;
const PHONETIC = /[ʙɢʜɪʟɴʀʏɑɡ]/;

// What a character is, as bits, because every character of every text is asked.
const LATIN_BIT = 1;
const CYRILLIC_BIT = 2;
const GREEK_BIT = 4;
const OTHER_BIT = 8;
const LATIN_LIKE_BIT = 16;
const PHONETIC_BIT = 32;
const bitsOf = new Uint8Array(0x10000);
const setBit = (bit: number, chars: string): void => {
  for (const char of chars) bitsOf[char.charCodeAt(0)] = (bitsOf[char.charCodeAt(0)] ?? 0) | bit;
};
const charsBetween = (first: string, last: string): string =>
  Array.from({ length: last.charCodeAt(0) - first.charCodeAt(0) + 1 }, (_, index) =>
    String.fromCharCode(first.charCodeAt(0) + index),
  ).join('');
const LATIN = charsBetween('A', 'Z') + charsBetween('a', 'z');
setBit(LATIN_BIT, LATIN);
setBit(CYRILLIC_BIT, charsBetween('Ѐ', 'ԯ'));
setBit(GREEK_BIT, charsBetween('Ͱ', 'Ͽ'));
setBit(OTHER_BIT, GROUPS.replace(/[a-z Ѐ-ԯͰ-Ͽʙɢʜɪʟɴʀʏɑɡ]/g, ''));
setBit(PHONETIC_BIT, 'ʙɢʜɪʟɴʀʏɑɡ');
setBit(LATIN_LIKE_BIT, `${LATIN}ĐđŁłØø${GROUPS}`);

/** The bits that any character of the text has, and those that every one has. */
const readBits = (text: string): { readonly any: number; readonly every: number } => {
  let any = 0;
  let every = 255;
  for (let index = 0; index < text.length; index++) {
    const bits = bitsOf[text.charCodeAt(index)] ?? 0;
    any |= bits;
    every &= bits;
  }
  return { any, every };
};
const mixesScripts = (bits: number): boolean =>
  (bits & OTHER_BIT) > 0 ||
  Number((bits & LATIN_BIT) > 0) + Number((bits & CYRILLIC_BIT) > 0) + Number((bits & GREEK_BIT) > 0) > 1;

// A Russian ending on an English abbreviation.
const ABBREVIATION = /^(?:SMS|MMS|USB|VIP|IT|PC|PR|HR|TV|DVD|CD|GPS|SIM|MMO|RPG|PDF|SQL|API|DJ|QR|IP|LED|PS)/;

const latinise = (word: string): string => [...word].map((char) => latinOf.get(char) ?? char).join('');

/** A Greek letter beside Latin ones is a formula (2πr, sinα, TNFα) unless it replaces a letter of a word. */
const isGreekDisguise = (word: string): boolean => {
  if (/[οΑ-Ω]/.test(word)) return true;
  const rest = word.replace(/arc|sin|cos|tan|cot|sec|csc|log|ln|exp|max|min/g, ' ');
  return /[a-z]/.test(rest) && /[A-Za-z][Ͱ-Ͽ]+[A-Za-z]|[A-Za-z]{4}/.test(rest);
};

const isMixedLatin = (word: string): boolean => {
  const { any, every } = readBits(word);
  return (every & LATIN_LIKE_BIT) > 0 && mixesScripts(any);
};

const isDisguised = (word: string): boolean => {
  if (word.length < 3 || !isMixedLatin(word)) return false;
  const { any } = readBits(word);
  if ((any & OTHER_BIT) > 0 || ((any & CYRILLIC_BIT) > 0 && (any & GREEK_BIT) > 0))
    return /[A-Za-zЀ-ԯͰ-Ͽᴀ-ᴢꜰꜱǫ]/.test(word);
  return (any & CYRILLIC_BIT) > 0 ? !ABBREVIATION.test(word) : isGreekDisguise(word);
};

/** Small capitals that phonetic writing uses as well: a disguised word has no other letters. */
const isSmallCapitals = (word: string): boolean =>
  word.length >= 3 &&
  (readBits(word).any & PHONETIC_BIT) > 0 &&
  (/^[ʙɢʜɪʟɴʀʏcosvwxz]+$/.test(word) || /^[a-z]*[ɑɡ][a-zɑɡ]*$/i.test(word));
const PHONETIC_SPAN = /\/[^/\n]{1,60}\/|\[[^[\]\n]{1,60}\]/g;

const cyrillise = (word: string): string => {
  if (!CYRILLIC.test(word) || !/[A-Za-z]/.test(word) || ABBREVIATION.test(word)) return word;
  const view = word.replace(/[A-Za-z]/g, (char) => CYRILLIC_TWINS.charAt(LATIN_TWINS.indexOf(char)) || char);
  return /[A-Za-z]/.test(view) ? word : view;
};

// A whole word of these looks like a Latin one where all other words are Latin.
const PERFECT_TWINS = /^[асеорхуіјѕһԁԛԝѵАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ]+$/;
const latiniseWholeWords = (text: string, minLength: number): string => {
  const words = text.match(/[Ѐ-ԯͰ-Ͽ]+/g) ?? [];
  const isDisguise =
    /[A-Za-z]{3}/.test(text) &&
    words.some((word) => word.length >= minLength) &&
    words.every((word) => PERFECT_TWINS.test(word));
  return isDisguise ? text.replace(/[Ѐ-ԯͰ-Ͽ]+/g, latinise) : text;
};

/** Rewrites Latin words with look-alike letters in Latin letters, and Cyrillic words with Latin letters in Cyrillic. */
export const decodeLookAlikes = (text: string): string => {
  if (!PHONETIC.test(text) && !mixesScripts(readBits(text).any)) return text;
  const isFound =
    (text.match(WORD) ?? []).some(isDisguised) ||
    (PHONETIC.test(text) && (text.replace(PHONETIC_SPAN, ' ').match(WORD) ?? []).some(isSmallCapitals));
  const latin = isFound
    ? text.replace(WORD, (word) =>
        isMixedLatin(word) || isSmallCapitals(word) || [...word].length === 1 ? latinise(word) : word,
      )
    : text;
  return latiniseWholeWords(CYRILLIC.test(latin) ? latin.replace(WORD, cyrillise) : latin, isFound ? 1 : 3);
};
