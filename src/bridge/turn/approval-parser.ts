import type { ApprovalRequest } from '../output.ts';
import { type ApprovalDecision, badInput } from '../request.ts';
import { shortRequestID } from './approval-text.ts';

const isSameWord = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const findRequest = (word: string, requests: readonly ApprovalRequest[]): ApprovalRequest | undefined => {
  /** Undefined where two requests match: nothing is guessed. */
  const findOnly = (isSame: (id: string) => boolean): ApprovalRequest | undefined => {
    const [request, ...others] = requests.filter(({ id }) => isSame(id) || isSame(shortRequestID({ id })));
    return others.length === 0 ? request : undefined;
  };
  // Ids that differ only in their letter case have to be written as shown.
  return findOnly((id) => id === word) ?? findOnly((id) => isSameWord(id, word));
};

/**
 * The id of the request that a word names: by its whole id, or by the short id that was shown, in any letter case.
 * A request whose input was cut is named by its whole id only.
 */
export const findRequestID = (word: string, requests: readonly ApprovalRequest[]): string | undefined => {
  const request = findRequest(word, requests);
  return request?.isCut && !isSameWord(request.id, word) ? undefined : request?.id;
};

/** Returns a name that `findRequestID` accepts. A rejection needs no view of the whole input, so the short id is enough. */
const nameInRejection = (word: string, requests: readonly ApprovalRequest[]): string | undefined => {
  const request = findRequest(word, requests);
  return request?.isCut ? request.id : request && word;
};
const nameInApproval = (word: string, requests: readonly ApprovalRequest[]): string | undefined =>
  findRequestID(word, requests) === undefined ? undefined : word;

const DECISION = /^\s*(["'`“]?)(approve|reject)\s+([\s\S]+)$/i;
/** The most that an agent accepts. */
const MESSAGE_CHARS = 4000;
/** A text that is meant as a decision, but not in the required form. */
const ALMOST =
  /^\s*["'`“]?(?:approved?|reject(?:ed)?|yes|no|ok(?:ay)?|go ahead|confirm(?:ed)?|deny|denied|y|n)(?![\p{L}\p{N}])/iu;
const ALMOST_CHARS = 200;

/** Removes the closing quote of a text whose opening quote was removed. */
const withoutClosingQuote = (text: string): string => text.replace(/\.$/, '').replace(/["'`”]$/, '');

/** The names at the beginning of a text, and the text after them. */
const readNames = (
  text: string,
  toName: (word: string) => string | undefined,
): { readonly ids: readonly string[]; readonly rest: string } => {
  const ids: string[] = [];
  let rest = text;
  for (;;) {
    const [whole = '', word = ''] = /^(?:and\s+)?([^\s,]+)[\s,]*/i.exec(rest) ?? [];
    const name = toName(word.replace(/[.:;]$/, ''));
    if (name === undefined) return { ids, rest };
    ids.push(name);
    rest = rest.slice(whole.length);
  }
};

const toRejection = (ids: readonly string[], text: string): ApprovalDecision => {
  const message = text.slice(0, MESSAGE_CHARS).trim();
  return { isApproved: false, ids, ...(message === '' ? {} : { message }) };
};

/**
 * The decision in a user's text: "approve ID", "approve ID ID", "reject ID" or "reject ID because ...".
 * Any other text is no decision; nothing is guessed.
 */
export const parseApproval = (text: string, requests: readonly ApprovalRequest[]): ApprovalDecision | undefined => {
  const [, quote, verb = '', after = ''] = DECISION.exec(text) ?? [];
  const named = after.trim();
  const isRejection = verb.toLowerCase() === 'reject';
  const toName = isRejection ? nameInRejection : nameInApproval;
  const { ids, rest } = readNames(quote === '' ? named : withoutClosingQuote(named), (word) => toName(word, requests));
  if (ids.length === 0) return undefined;
  if (isRejection) return toRejection(ids, rest);
  // More words than ids change what is approved, and the bridge cannot know how.
  return rest === '' ? { isApproved: true, ids } : undefined;
};

/** Whether a text looks like a decision but is not in the required form. */
export const isAlmostApproval = (text: string): boolean => text.length < ALMOST_CHARS && ALMOST.test(text);

const HEADER = 'x-approval';
const ID = '[\\w.:-]{1,200}';
const APPROVE = new RegExp(`^approve\\s+(${ID}(?:\\s*,\\s*${ID})*)$`, 'i');
const REJECT = new RegExp(`^reject\\s+(${ID})(?:[\\s,]+(.*))?$`, 'i');

/** The decision in the header `x-approval`: `approve ID, ID` or `reject ID text`. Faults with `bad-input` if it is malformed. */
export const parseApprovalHeader = (headers: Headers): ApprovalDecision | undefined => {
  const value = headers.get(HEADER)?.trim() ?? '';
  if (value === '') return undefined;
  const [, approved] = APPROVE.exec(value) ?? [];
  if (approved !== undefined) return { isApproved: true, ids: [...new Set(approved.split(/\s*,\s*/))] };
  const [, rejected, text = ''] = REJECT.exec(value) ?? [];
  if (rejected !== undefined) return toRejection([rejected], text);
  throw badInput('invalid_value', HEADER, `Invalid value at '${HEADER}': expected "approve ID, ID" or "reject ID why"`);
};
