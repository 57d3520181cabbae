import type { ApprovalRequest } from '../output.ts';
import { type ApprovalDecision, badInput } from '../request.ts';
import { shortRequestID } from './approval-text.ts';

/** The only one of a kind. Two that fit are none: nothing is guessed. */
const onlyOne = (asks: readonly ApprovalRequest[]): ApprovalRequest | undefined =>
  asks.length === 1 ? asks[0] : undefined;

const isSameWord = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const askOf = (word: string, asks: readonly ApprovalRequest[]): ApprovalRequest | undefined => {
  const named = (isSame: (id: string) => boolean): ApprovalRequest | undefined =>
    onlyOne(asks.filter((ask) => isSame(ask.id) || isSame(shortRequestID(ask))));
  // Ids that differ only in their letter case name nothing unless they are written as shown.
  return named((id) => id === word) ?? named((id) => isSameWord(id, word));
};

/**
 * The question that a word names: by its whole id, or by the end that the question showed, in any letter case.
 * One that was shown cut is named by its whole id only.
 */
export const findRequestID = (word: string, asks: readonly ApprovalRequest[]): string | undefined => {
  const ask = askOf(word, asks);
  return ask?.isCut && !isSameWord(ask.id, word) ? undefined : ask?.id;
};

/** A name that `idOf` takes. To reject, nobody has to have seen everything, so the short id is enough. */
const rejectedBy = (word: string, asks: readonly ApprovalRequest[]): string | undefined => {
  const ask = askOf(word, asks);
  return ask?.isCut ? ask.id : ask && word;
};
const approvedBy = (word: string, asks: readonly ApprovalRequest[]): string | undefined =>
  findRequestID(word, asks) === undefined ? undefined : word;

const WORDS = /^\s*(["'`“]?)(approve|reject)\s+([\s\S]+)$/i;
/** As much as an agent takes. */
const MESSAGE_CHARS = 4000;
/** A person who means to answer, but not in the words that count. */
const NEARLY =
  /^\s*["'`“]?(?:approved?|reject(?:ed)?|yes|no|ok(?:ay)?|go ahead|confirm(?:ed)?|deny|denied|y|n)(?![\p{L}\p{N}])/iu;
const NEARLY_CHARS = 200;

/** Without the quote that closes what another has opened. */
const unquoted = (text: string): string => text.replace(/\.$/, '').replace(/["'`”]$/, '');

/** The questions that words name one after the other, and the words after them. */
const namedIn = (
  words: string,
  nameOf: (word: string) => string | undefined,
): { readonly ids: readonly string[]; readonly rest: string } => {
  const ids: string[] = [];
  let rest = words;
  for (;;) {
    const [whole = '', token = ''] = /^(?:and\s+)?([^\s,]+)[\s,]*/i.exec(rest) ?? [];
    const name = nameOf(token.replace(/[.:;]$/, ''));
    if (name === undefined) return { ids, rest };
    ids.push(name);
    rest = rest.slice(whole.length);
  }
};

/**
 * What a user's words say about open questions: "approve ID", "approve ID ID", "reject ID" or "reject ID because ...".
 * Anything else is no answer; nothing is guessed.
 */
export const parseApproval = (words: string, asks: readonly ApprovalRequest[]): ApprovalDecision | undefined => {
  const [, quote, verb = '', after = ''] = WORDS.exec(words) ?? [];
  const named = after.trim();
  const isReject = verb.toLowerCase() === 'reject';
  const nameOf = isReject ? rejectedBy : approvedBy;
  const { ids, rest } = namedIn(quote === '' ? named : unquoted(named), (word) => nameOf(word, asks));
  if (ids.length === 0) return undefined;
  if (isReject) {
    const message = rest.slice(0, MESSAGE_CHARS).trim();
    return { isApproved: false, ids, ...(message === '' ? {} : { message }) };
  }
  // More words than ids change what is approved, and nobody here can tell how.
  return rest === '' ? { isApproved: true, ids } : undefined;
};

/** Whether words look like an attempt to answer that cannot be counted as one. */
export const isAlmostApproval = (words: string): boolean => words.length < NEARLY_CHARS && NEARLY.test(words);

const HEADER = 'x-approval';
const ID = '[\\w.:-]{1,200}';
const APPROVE = new RegExp(`^approve\\s+(${ID}(?:\\s*,\\s*${ID})*)$`, 'i');
const REJECT = new RegExp(`^reject\\s+(${ID})(?:[\\s,]+(.*))?$`, 'i');

/** The header `x-approval`: `approve ID, ID` or `reject ID words`. A malformed one is a fault, for it was meant to count. */
export const parseApprovalHeader = (headers: Headers): ApprovalDecision | undefined => {
  const value = headers.get(HEADER)?.trim() ?? '';
  if (value === '') return undefined;
  const [, approved] = APPROVE.exec(value) ?? [];
  if (approved !== undefined) return { isApproved: true, ids: [...new Set(approved.split(/\s*,\s*/))] };
  const [, rejected, words] = REJECT.exec(value) ?? [];
  if (rejected === undefined)
    throw badInput(
      'invalid_value',
      HEADER,
      `Invalid value at '${HEADER}': expected "approve ID, ID" or "reject ID why"`,
    );
  const message = words?.trim().slice(0, MESSAGE_CHARS) ?? '';
  return { isApproved: false, ids: [rejected], ...(message === '' ? {} : { message }) };
};
