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
const ALL_LATIN_LIKE = new RegExp(`^[A-Za-zĐđŁłØø${GROUPS}]+$`);
const CYRILLIC = /[Ѐ-ԯ]/;
const GREEK = /[Ͱ-Ͽ]/;
const PHONETIC = /[ʙɢʜɪʟɴʀʏɑɡ]/;
const OTHER_SCRIPTS = new RegExp(`[${GROUPS.replace(/[a-z Ѐ-ԯͰ-Ͽʙɢʜɪʟɴʀʏɑɡ]/g, '')}]`);
// A Russian ending on an English abbreviation.
const ABBREVIATION = /^(?:SMS|MMS|USB|VIP|IT|PC|PR|HR|TV|DVD|CD|GPS|SIM|MMO|RPG|PDF|SQL|API|DJ|QR|IP|LED|PS)/;

const latinise = (word: string): string => [...word].map((char) => latinOf.get(char) ?? char).join('');

/** A Greek letter beside Latin ones is a formula (2πr, sinα, TNFα) unless it replaces a letter of a word. */
const isGreekDisguise = (word: string): boolean => {
  if (/[οΑ-Ω]/.test(word)) return true;
  const rest = word.replace(/arc|sin|cos|tan|cot|sec|csc|log|ln|exp|max|min/g, ' ');
  return /[a-z]/.test(rest) && /[A-Za-z][Ͱ-Ͽ]+[A-Za-z]|[A-Za-z]{4}/.test(rest);
};

const mixesScripts = (text: string): boolean =>
  OTHER_SCRIPTS.test(text) ||
  Number(/[A-Za-z]/.test(text)) + Number(CYRILLIC.test(text)) + Number(GREEK.test(text)) > 1;

const isMixedLatin = (word: string): boolean => mixesScripts(word) && ALL_LATIN_LIKE.test(word);

const isDisguised = (word: string): boolean => {
  if (word.length < 3 || !isMixedLatin(word)) return false;
  if (OTHER_SCRIPTS.test(word) || (CYRILLIC.test(word) && GREEK.test(word))) return /[A-Za-zЀ-ԯͰ-Ͽᴀ-ᴢꜰꜱǫ]/.test(word);
  return CYRILLIC.test(word) ? !ABBREVIATION.test(word) : isGreekDisguise(word);
};

/** Small capitals that phonetic writing uses as well: a disguised word has no other letters. */
const isSmallCapitals = (word: string): boolean =>
  word.length >= 3 && (/^[ʙɢʜɪʟɴʀʏcosvwxz]+$/.test(word) || /^[a-z]*[ɑɡ][a-zɑɡ]*$/i.test(word)) && PHONETIC.test(word);
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
  if (!PHONETIC.test(text) && !mixesScripts(text)) return text;
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
