import type { ApprovalRequest } from '../../output.ts';
import { type ApprovalDecision, REASON_CHARS } from '../../request.ts';
import { lookUpRequest } from './text.ts';

/** Why a text decides nothing, though it looks like a decision. `word` is quoted from the text, `id` is a request's own. */
export type ApprovalProblem =
  | { readonly kind: 'unknown-id' | 'ambiguous-id'; readonly word: string }
  /** The input of the request was shown cut, and its short id was given. */
  | { readonly kind: 'cut-input' | 'contradiction' | 'closed'; readonly id: string }
  /** `other-words`: words that may change what is meant. */
  | { readonly kind: 'no-id' | 'no-verb' | 'other-words' | 'too-long' | 'not-shown' | 'none-open' };

/** `decisions` of an unclear text: what was understood before the problem, and of the last one the verb at least. */
export type ParsedApproval =
  | { readonly kind: 'decided'; readonly decisions: readonly ApprovalDecision[] }
  | { readonly kind: 'unclear'; readonly problem: ApprovalProblem; readonly decisions: readonly ApprovalDecision[] };

/** Longer texts decide nothing: reading them would take too long. */
const TEXT_CHARS = 20_000;
const WORD = /[^\s,;]+/g;
/** What people and clients put around words: quotes, markup, brackets, and the slash of a command. */
const OPENING = '"\'`“”„‘’«»*([{/';
const CLOSING = '"\'`“”‘’«»*)]}';
const PUNCTUATION = '.!:…';
/** The mark of a list's item. */
const ITEM = /^(?:[-–—•]|\d{1,2}[.)])$/;

const POLITE = ['please', 'pls', 'plz', 'kindly', 'thanks', 'thx', 'ty', 'thank'];
const AFTER_IDS: ReadonlySet<string> = new Set(['', ...POLITE]);
const BEFORE_VERB: ReadonlySet<string> = new Set([...AFTER_IDS, 'ok', 'okay', 'yes', 'yeah', 'yep', 'sure']);
const BETWEEN: ReadonlySet<string> = new Set([...BEFORE_VERB, 'and']);
/** More of them are no decision. Without a limit, each line of a long reason could be read many times. */
const FILLERS_LIMIT = 8;

type Word = {
  /** In lower case. */
  readonly name: string;
  readonly text: string;
  readonly start: number;
  /** How many marks around words it opens, less those that it closes. */
  readonly opens: number;
  readonly endsWithColon: boolean;
  readonly isLineStart: boolean;
  readonly isSentenceStart: boolean;
};

const toWord = (raw: string, start: number, before: { readonly end: string; readonly gap: string }): Word => {
  let from = 0;
  while (from < raw.length && OPENING.includes(raw.charAt(from))) from += 1;
  let to = raw.length;
  let closed = 0;
  for (; to > from && (CLOSING + PUNCTUATION).includes(raw.charAt(to - 1)); to -= 1)
    if (CLOSING.includes(raw.charAt(to - 1))) closed += 1;
  const isLineStart = before.end === '' || before.gap.includes('\n');
  const text = isLineStart && ITEM.test(raw) ? '' : raw.slice(from, to);
  const slashes = raw.slice(0, from).split('/').length - 1;
  return {
    name: text.toLowerCase(),
    text,
    start,
    opens: from - slashes - closed,
    endsWithColon: raw.endsWith(':'),
    isLineStart,
    isSentenceStart: isLineStart || before.gap.includes(';') || /[.!?…]["'`”’»*)\]}]{0,9}$/.test(before.end),
  };
};

const toWords = (text: string): readonly Word[] => {
  const words: Word[] = [];
  let before = { end: '', at: 0 };
  for (const { 0: raw, index } of text.matchAll(WORD)) {
    const word = toWord(raw, index, { end: before.end, gap: text.slice(before.at, index) });
    const isThankYou = word.name === 'you' && words.at(-1)?.name === 'thank';
    words.push(isThankYou ? { ...word, name: '' } : word);
    before = { end: raw.slice(-10), at: index + raw.length };
  }
  return words;
};

const isVerb = (word: Word | undefined): boolean => word?.name === 'approve' || word?.name === 'reject';

/** Whether a word has the form of an id, or of one with a slip of typing in it, so that it is no word of a language. */
const hasIDForm = (word: string): boolean =>
  /^per_\w{1,200}$/i.test(word) ||
  (/^[a-z\d]{5,8}$/i.test(word) && (/\d[a-z]|[a-z]\d/i.test(word) || /[a-z][A-Z]/.test(word)));

/** The same where a reason may follow: "100USD" can be its beginning. */
const isSurelyID = (word: string): boolean =>
  /^per_\w{1,200}$/i.test(word) ||
  (/^[a-z\d]{6}$/i.test(word) && /\d/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word));

/** What may be the short id of another request where it stands alone: some are letters only, as words are. */
const ALONE_ID = /^[a-z\d]{6}$/i;

/** A reason as it was written, without the ends of marks that opened before it. */
const toReason = (text: string, opened: number): string => {
  let end = text.length;
  if (text.endsWith('.') && CLOSING.includes(text.charAt(end - 2))) end -= 1;
  const isWrapped = opened > 0 && CLOSING.includes(text.charAt(end - 1));
  for (let left = opened; left > 0 && end > 0 && CLOSING.includes(text.charAt(end - 1)); left -= 1) end -= 1;
  return (isWrapped ? text.slice(0, end) : text).slice(0, REASON_CHARS).trim();
};

/** Reads the decisions of a text, one after the other. */
const createReader = (text: string, requests: readonly ApprovalRequest[]) => {
  const words = toWords(text);
  const skip = (from: number, fillers: ReadonlySet<string>, limit = Number.POSITIVE_INFINITY): number => {
    let at = from;
    while (at < words.length && at - from < limit && fillers.has(words[at]?.name ?? '')) at += 1;
    return at;
  };
  const isName = (word: Word | undefined): boolean =>
    word !== undefined && (hasIDForm(word.text) || lookUpRequest(word.text, requests).kind !== 'unknown');
  const isAll = (word: Word | undefined): boolean => word?.name === 'all';
  /** Within a reason only a whole decision begins another one: "Reject all such calls" is still the reason. */
  const beginsDecision = (at: number): boolean => {
    const [verb, named, next] = [words[at], words[at + 1], words[at + 2]];
    if (!isVerb(verb)) return false;
    if (isAll(named)) return verb?.name === 'approve' || next === undefined || next.isSentenceStart;
    return isName(named);
  };
  /** The first word of the next decision after a reason that begins at `from`; the number of words if there is none. */
  const findReasonEnd = (from: number): number => {
    const isEnd = ({ isSentenceStart }: Word, at: number): boolean =>
      at > from && isSentenceStart && beginsDecision(skip(at, BETWEEN, FILLERS_LIMIT));
    const found = words.findIndex(isEnd);
    return found === -1 ? words.length : found;
  };
  const countOpened = (to: number): number =>
    words.slice(0, to).reduce((opened, { opens }) => Math.max(0, opened + opens), 0);
  return { words, skip, isAll, findReasonEnd, countOpened };
};

type Names = { readonly ids: readonly string[] | 'all'; readonly end: number; readonly problem?: ApprovalProblem };

/** Reads the ids after a verb. `end` is the word after the last of them. */
const readNames = (
  { words, isAll, skip }: ReturnType<typeof createReader>,
  from: number,
  { isApproved, requests }: { readonly isApproved: boolean; readonly requests: readonly ApprovalRequest[] },
): Names => {
  const first = skip(from, AFTER_IDS);
  if (isAll(words[first])) return { ids: 'all', end: first + 1 };
  const ids: string[] = [];
  let end = first;
  for (let at = first; at < words.length; at += 1) {
    const { text: word = '', name = '', endsWithColon } = words[at] ?? { endsWithColon: false };
    const found = lookUpRequest(word, requests);
    if (found.kind === 'ambiguous') return { ids, end, problem: { kind: 'ambiguous-id', word } };
    if (found.kind === 'found') {
      const { id, isCut } = found.request;
      // A rejection needs no view of the whole input, so the short id is enough.
      if (isApproved && isCut === true && !found.isWholeID) return { ids, end, problem: { kind: 'cut-input', id } };
      ids.push(id);
      end = at + 1;
      if (endsWithColon) break;
    } else if (isApproved || ids.length === 0 ? hasIDForm(word) : isSurelyID(word))
      return { ids, end, problem: { kind: 'unknown-id', word } };
    else if (name !== 'and' && !AFTER_IDS.has(name)) break;
  }
  if (ids.length > 0) return { ids, end };
  const { text: alone = '' } = words[first] ?? {};
  const isAlone = ALONE_ID.test(alone) && skip(first + 1, AFTER_IDS) === words.length;
  return { ids, end, problem: isAlone ? { kind: 'unknown-id', word: alone } : { kind: 'no-id' } };
};

/**
 * The decisions in a user's text: "approve ID", "reject ID ID because ...", "approve all", and several of these. Fillers such
 * as "please", quotes and punctuation change nothing. Other words around an approval change what is approved, and the bridge
 * cannot know how. Undefined: the text does not begin like a decision. All decisions of a text count, or none.
 */
export const parseApproval = (text: string, requests: readonly ApprovalRequest[]): ParsedApproval | undefined => {
  const reader = createReader(text.slice(0, TEXT_CHARS), requests);
  const { words, skip } = reader;
  const decisions: ApprovalDecision[] = [];
  const unclear = (problem: ApprovalProblem): ParsedApproval => ({ kind: 'unclear', problem, decisions });
  let at = skip(0, BEFORE_VERB);
  if (!isVerb(words[at])) return undefined;
  if (text.length > TEXT_CHARS) return unclear({ kind: 'too-long' });
  while (at < words.length) {
    const isApproved = words[at]?.name === 'approve';
    const { ids, end, problem } = readNames(reader, at + 1, { isApproved, requests });
    const decision = { isApproved, ids };
    decisions.push(decision);
    if (problem !== undefined) return unclear(problem);
    const next = skip(end, BETWEEN);
    if (skip(end, AFTER_IDS) === words.length) break;
    at = next;
    if (isVerb(words[next]) && words[end - 1]?.endsWithColon !== true) continue;
    if (isApproved) return unclear({ kind: 'other-words' });
    const reasonEnd = reader.findReasonEnd(end);
    const written = text.slice(words[end]?.start, words[reasonEnd]?.start).trim();
    const message = toReason(written, reader.countOpened(end));
    decisions[decisions.length - 1] = message === '' ? decision : { ...decision, message };
    at = skip(reasonEnd, BETWEEN);
  }
  return { kind: 'decided', decisions };
};

/** A text that is meant as a decision, but not in the required form. */
const ALMOST =
  /^\s*["'`“]?(?:approved?|reject(?:ed)?|yes|no|ok(?:ay)?|go ahead|confirm(?:ed)?|deny|denied|y|n)(?![\p{L}\p{N}])/iu;
const ALMOST_CHARS = 200;

/** Whether a text looks like a decision but is not in the required form. */
export const isAlmostApproval = (text: string): boolean => text.length < ALMOST_CHARS && ALMOST.test(text);
