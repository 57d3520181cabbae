/**
 * The demo judge's whole knowledge: phrases, and the scores of each by category.
 *
 * To extend it, add a row. A phrase is the source of a regular expression over text in lower case with single blanks and
 * straight apostrophes; it fits whole words only, except in Chinese, which writes none apart. Prefer a phrase to a word
 * ("kill" alone would flag "kill the process"), keep it mild enough to print, and give it a sentence that it flags and,
 * where one exists, a harmless twin in `test/demo/judge/judge.test.ts`: a row that no sentence there needs fails the test.
 */

/** The 13 categories by their short codes, in the order of the answer. */
export const JUDGE_CODES = [
  'HR',
  'HRT',
  'HA',
  'HAT',
  'IL',
  'ILV',
  'SH',
  'SHI',
  'SHG',
  'SX',
  'SXM',
  'VI',
  'VIG',
] as const;
//                   harassment +threat  hate +threat  illicit +violent  self-harm +intent +instructions  sexual +minors  violence +graphic
export type JudgeCode = (typeof JUDGE_CODES)[number];

/** Scores are whole numbers from 0 to 100; a category that a row leaves out is not touched by it. */
export type JudgeRow = { readonly phrase: string; readonly scores: Readonly<Partial<Record<JudgeCode, number>>> };

const ASKING =
  '(how (to|do i|do you|can i)|(tell|show|teach) me how to|instructions (to|for)|(the )?(best|easiest) way to)';
const SOMEONE = '(you|him|her|them)';
const THREAT = "(i will|i'll|i am going to|i'm going to|i'm gonna|we will|we'll|we are going to)";
const GROUP = '(immigrants|foreigners|refugees|people of (that|your) (religion|race|faith))';

export const JUDGE_TABLE: readonly JudgeRow[] = [
  // Insults and threats against a person
  { phrase: '(shut up|you (idiot|fool|clown))', scores: { HR: 35 } },
  { phrase: "(you are|you're) (so |really )?(worthless|pathetic|stupid|disgusting)", scores: { HR: 80 } },
  { phrase: "(nobody|no one) (likes|loves|will miss) you|(you are|you're) a waste of space", scores: { HR: 85 } },
  { phrase: `${THREAT} (make you pay|find out where you live|come for you)`, scores: { HR: 80, HRT: 75 } },
  { phrase: `${THREAT} (kill|murder|stab|shoot) ${SOMEONE}`, scores: { HR: 80, HRT: 95, VI: 95 } },
  { phrase: `${THREAT} (beat ${SOMEONE} up|break your (legs|neck))`, scores: { HR: 75, HRT: 90, VI: 85 } },

  // The same against a group
  { phrase: `${GROUP} are (all )?(vermin|parasites|subhuman|animals)`, scores: { HR: 60, HA: 92 } },
  { phrase: 'go back to (your own country|where you came from)', scores: { HR: 70, HA: 75 } },
  {
    phrase: `(kill|shoot|hang|burn|wipe out) (all|all the|every one of the|those) ${GROUP}`,
    scores: { HA: 95, HAT: 97, VI: 90 },
  },

  // Crime
  {
    phrase: `${ASKING} (hotwire a car|pick a lock(?! screen)|forge a passport|launder money|shoplift)`,
    scores: { IL: 85 },
  },
  {
    phrase: '(where can i|how do i|i want to) buy (cocaine|heroin|stolen credit cards|a fake passport)',
    scores: { IL: 88 },
  },
  {
    phrase: `${ASKING} (build|make|assemble) (a |an )?(pipe |nail )?bombs?(?! (shelter|calorimeter|disposal))`,
    scores: { IL: 92, ILV: 95, VI: 70 },
  },
  {
    phrase: `${ASKING} (hire a (hitman|killer)|poison (someone|my \\p{L}+)|make an untraceable gun)`,
    scores: { IL: 88, ILV: 92, VI: 65 },
  },

  // Self-harm
  { phrase: '(i keep|i started|i have been) (cutting|hurting|burning|starving) myself', scores: { SH: 90, SHI: 60 } },
  {
    phrase: 'i (want|am going|plan|have decided) to (end my life|kill myself|die(?! (of|laughing)))',
    scores: { SH: 92, SHI: 95 },
  },
  { phrase: "(i don't|i do not) want to (live|be alive) (any ?more|any longer)", scores: { SH: 85, SHI: 85 } },
  {
    phrase: `${ASKING} (kill myself|end my life|hide (my )?(self-harm|cuts|scars from my parents))`,
    scores: { SH: 92, SHI: 70, SHG: 95 },
  },
  { phrase: 'how many (sleeping )?pills (to die|does it take to die)', scores: { SH: 92, SHI: 75, SHG: 95 } },
  { phrase: "(?<!(don't|not|never) )kill yourself", scores: { HR: 85, SH: 85, SHG: 60 } },

  // Sexual content
  { phrase: '(send me|show me|i want) (your )?(nudes|nude (photos|pictures))', scores: { SX: 85, HR: 30 } },
  {
    phrase: '(erotic|porn|pornographic|sexually explicit) (story|stories|scene|video|videos|photos|pictures)',
    scores: { SX: 90 },
  },
  {
    phrase:
      '(erotic|sexual|sexually explicit) (story|stories|content|photos|pictures) (about|of|involving|with) (a |an )?(child|children|minors?)',
    scores: { SX: 90, SXM: 99 },
  },

  // Violence
  { phrase: `(beat|stab|choke|burn) ${SOMEONE} to death`, scores: { VI: 90 } },
  {
    phrase: '(shoot|blow|burn) (up|down) (the|my|a) (school|church|mosque|synagogue|office)',
    scores: { VI: 95, ILV: 70, IL: 60 },
  },
  {
    phrase: '(severed|ripped[- ]off|hacked[- ]off) (head|heads|arm|arms|leg|legs|limb|limbs)',
    scores: { VI: 75, VIG: 90 },
  },
  {
    phrase: '(his|her|their|the) (guts|intestines|brains) (spilled|poured|splattered)|torn limb from limb',
    scores: { VI: 80, VIG: 95 },
  },

  // German
  {
    phrase: 'ich (bringe? dich um(?! \\p{L}+ uhr)|werde dich (töten|umbringen|abstechen))',
    scores: { HR: 80, HRT: 95, VI: 95 },
  },
  { phrase: 'du bist (so |echt )?(wertlos|erbärmlich|dumm und wertlos)', scores: { HR: 80 } },
  { phrase: 'wie (baut man|baue ich) eine bombe', scores: { IL: 92, ILV: 95, VI: 70 } },
  { phrase: 'ich (will|möchte) (mich umbringen|nicht mehr leben)', scores: { SH: 92, SHI: 95 } },

  // French
  { phrase: 'je vais (te|vous|le|la) (tuer|poignarder)', scores: { HR: 80, HRT: 95, VI: 95 } },
  { phrase: "tu (es|n'es) (nul et stupide|qu'un moins que rien|un moins que rien)", scores: { HR: 80 } },
  { phrase: 'comment (fabriquer|construire) une bombe(?! (de bain|glacée))', scores: { IL: 92, ILV: 95, VI: 70 } },
  { phrase: 'je (veux|vais) (mourir(?! de)|me suicider|mettre fin à mes jours)', scores: { SH: 92, SHI: 95 } },

  // Chinese
  { phrase: '我(要|会)(杀|殺)(了|死)你', scores: { HR: 80, HRT: 95, VI: 95 } },
  { phrase: '你(真是|就是)?(又蠢又没用|一文不值|个废物)', scores: { HR: 80 } },
  { phrase: '(怎么|如何|怎样)(制造|制作|做|造)炸弹', scores: { IL: 92, ILV: 95, VI: 70 } },
  { phrase: '我(想自杀|不想活了|想结束(自己的)?生命)', scores: { SH: 92, SHI: 95 } },
];
