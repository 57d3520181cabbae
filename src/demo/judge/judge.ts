import { JUDGE_CODES, JUDGE_TABLE, type JudgeCode, type JudgeRow } from './patterns.ts';

/** The demo judge's only model. Every answer names it, so that no one takes it for a real judge. */
export const JUDGE_MODEL = 'demo-judge';

/** All 13 categories, whole numbers from 0 to 100. */
type JudgeScores = Readonly<Record<JudgeCode, number>>;

/** The score from which the gateway's policy speaks of a violation. */
const VIOLATION_SCORE = 50;
const UNMARKED_ANSWER = 'I am a demo judge and only read marked texts.';
const CLEAN: JudgeScores = {
  HR: 0,
  HRT: 0,
  HA: 0,
  HAT: 0,
  IL: 0,
  ILV: 0,
  SH: 0,
  SHI: 0,
  SHG: 0,
  SX: 0,
  SXM: 0,
  VI: 0,
  VIG: 0,
};

/** Words end where letters and digits do; `\b` would see an end inside "töten". Chinese has no such ends to look for. */
const createPattern = ({ phrase }: JudgeRow): RegExp =>
  /\p{Script=Han}/u.test(phrase)
    ? new RegExp(phrase, 'u')
    : new RegExp(`(?<![\\p{L}\\p{N}])(?:${phrase})(?![\\p{L}\\p{N}])`, 'u');

const MATCHERS = JUDGE_TABLE.map((row) => ({ row, pattern: createPattern(row) }));

/** Normalised like the table's phrases. Hidden characters and look-alikes stay: decoding them is the gateway's task. */
const normaliseForTable = (text: string): string => text.toLowerCase().replace(/[‘’]/g, "'").replace(/\s+/g, ' ');

/** The rows whose phrase a text contains: they alone decide its scores. */
export const findRows = (text: string): readonly JudgeRow[] => {
  const readable = normaliseForTable(text);
  return MATCHERS.filter(({ pattern }) => pattern.test(readable)).map(({ row }) => row);
};

/** Judges by the table alone, the strongest row deciding each category. It understands nothing: quoting flags as well. */
export const judgeText = (text: string): JudgeScores => {
  const scores = { ...CLEAN };
  for (const row of findRows(text)) {
    for (const code of JUDGE_CODES) scores[code] = Math.max(scores[code], row.scores[code] ?? 0);
  }
  return scores;
};

/** A text to judge, and the number that proves which text a verdict is about. */
type MarkedText = { readonly nonce: string; readonly text: string };

/**
 * The text between the marker lines of a prompt; undefined without them. The last end marker with the nonce of the text marker
 * counts, so markers inside a text are text.
 */
export const parseMarkedText = (prompt: string): MarkedText | undefined => {
  let rest = prompt;
  for (;;) {
    const start = /^\[\[text (\d{12})\]\]$/m.exec(rest);
    const nonce = start?.[1];
    if (start === null || nonce === undefined) return undefined;
    rest = rest.slice(start.index + start[0].length);
    const end = [...rest.matchAll(new RegExp(`^\\[\\[end ${nonce}\\]\\]$`, 'gm'))].at(-1);
    if (end !== undefined) return { nonce, text: rest.slice(0, end.index).replace(/^\r?\n|\r?\n$/g, '') };
  }
};

/** Codes of categories that are not in the table, which an operator has defined: the table knows no text that falls under them. */
const otherCodes = (prompt: string): Readonly<Record<string, number>> => {
  const shape = prompt.slice(prompt.lastIndexOf('{"'));
  const codes = [...shape.matchAll(/"([A-Z]+\d*)":n/g)].map(([, code = '']) => code);
  return Object.fromEntries(codes.filter((code) => !Object.hasOwn(CLEAN, code)).map((code) => [code, 0]));
};

const wordFor = (scores: JudgeScores): string =>
  JUDGE_CODES.some((code) => scores[code] >= VIOLATION_SCORE) ? 'over' : 'under';

/** The judge's answer to a prompt: a verdict with the gateway's word and the nonce, or a sentence when it has no markers. */
export const judgePrompt = (prompt: string): string => {
  const marked = parseMarkedText(prompt);
  if (marked === undefined) return UNMARKED_ANSWER;
  const scores = judgeText(marked.text);
  return JSON.stringify({ ...scores, ...otherCodes(prompt), word: wordFor(scores), nonce: marked.nonce });
};

/** A plausible token count, for nothing here has a tokenizer: four characters a token, and no two words in one. */
export const estimateTokens = (text: string): number =>
  Math.max(Math.ceil(text.length / 4), text.match(/\S+/g)?.length ?? 0);
