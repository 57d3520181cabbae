import type { ApprovalRequest } from '../../output.ts';
import type { ApprovalDecision } from '../../request.ts';
import { type ApprovalProblem, isAlmostApproval, type ParsedApproval, parseApproval } from './parser.ts';
import { lookUpRequest, shortRequestID } from './text.ts';

/** What a message may decide on. `shown`: the requests that the last answer ended with, also those that are closed by now. */
export type DecidableRequests = {
  readonly open: readonly ApprovalRequest[];
  readonly shown: readonly ApprovalRequest[];
};

/** What a person decides about a request. `message`: for the model. */
type ApprovalReply = { readonly reply: 'once' } | { readonly reply: 'reject'; readonly message?: string };

/** A decision about one request. */
export type Verdict = { readonly request: ApprovalRequest; readonly reply: ApprovalReply };

/** `withheld`: requests that "approve all" does not approve, because their input was shown cut. */
export type ReadDecision =
  | {
      readonly kind: 'decided';
      readonly verdicts: readonly Verdict[];
      readonly withheld: readonly ApprovalRequest[];
      /** One approval with ids, or one rejection with a reason: it is clear what was decided. */
      readonly isPlain: boolean;
    }
  | Extract<ParsedApproval, { readonly kind: 'unclear' }>;

const toReply = ({ isApproved, message }: ApprovalDecision): ApprovalReply => {
  if (isApproved) return { reply: 'once' };
  return message === undefined ? { reply: 'reject' } : { reply: 'reject', message };
};

type Found = { readonly requests: readonly ApprovalRequest[]; readonly withheld?: readonly ApprovalRequest[] };

const findAll = (isApproved: boolean, { open, shown }: DecidableRequests): Found | ApprovalProblem => {
  const seen = open.filter(({ id }) => shown.some((request) => request.id === id));
  const [first] = seen;
  if (first === undefined) return { kind: 'not-shown' };
  const requests = isApproved ? seen.filter(({ isCut }) => isCut !== true) : seen;
  if (requests.length === 0) return { kind: 'cut-input', id: first.id };
  return { requests, withheld: seen.filter((request) => !requests.includes(request)) };
};

const findNamed = (
  word: string,
  isApproved: boolean,
  { open, shown }: DecidableRequests,
): ApprovalRequest | ApprovalProblem => {
  const found = lookUpRequest(word, open);
  if (found.kind === 'ambiguous') return { kind: 'ambiguous-id', word };
  if (found.kind === 'found') {
    const { request, isWholeID } = found;
    return isApproved && request.isCut === true && !isWholeID ? { kind: 'cut-input', id: request.id } : request;
  }
  const closed = lookUpRequest(word, shown);
  return closed.kind === 'found' ? { kind: 'closed', id: closed.request.id } : { kind: 'unknown-id', word };
};

const findRequests = ({ isApproved, ids }: ApprovalDecision, requests: DecidableRequests): Found | ApprovalProblem => {
  if (ids === 'all') return findAll(isApproved, requests);
  const named: ApprovalRequest[] = [];
  for (const word of ids) {
    const found = findNamed(word, isApproved, requests);
    if ('kind' in found) return found;
    named.push(found);
  }
  return { requests: named };
};

/** All decisions of a message, or none if one of them fits no open request or contradicts another. */
const settle = (decisions: readonly ApprovalDecision[], requests: DecidableRequests): ReadDecision => {
  const unclear = (problem: ApprovalProblem): ReadDecision => ({ kind: 'unclear', problem, decisions });
  const verdicts = new Map<string, Verdict>();
  const withheld: ApprovalRequest[] = [];
  for (const decision of decisions) {
    const found = findRequests(decision, requests);
    if ('kind' in found) return unclear(found);
    const reply = toReply(decision);
    for (const request of found.requests) {
      const earlier = verdicts.get(request.id);
      if (earlier !== undefined && earlier.reply.reply !== reply.reply)
        return unclear({ kind: 'contradiction', id: request.id });
      verdicts.set(request.id, earlier ?? { request, reply });
    }
    withheld.push(...(found.withheld ?? []));
  }
  const [first] = decisions;
  const isPlain =
    decisions.length === 1 && first?.ids !== 'all' && (first?.isApproved === true || first?.message !== undefined);
  return { kind: 'decided', verdicts: [...verdicts.values()], withheld, isPlain };
};

/** A short id that no other text has by chance, such as the number of a ticket. */
const isNoOtherWord = (word: string): boolean =>
  /^per_\w/i.test(word) || (/^\w{6}$/.test(word) && /\d/.test(word) && !/^(?:\d+|[a-z]+\d+)$/i.test(word));

/** Whether a message can only be about a permission request, though none is open. "Approve the merge request" is a prompt. */
const isAboutRequests = (parsed: ParsedApproval): boolean => {
  if (parsed.kind === 'decided') return true;
  const { problem, decisions } = parsed;
  if (problem.kind === 'unknown-id') return isNoOtherWord(problem.word);
  return problem.kind !== 'no-id' && decisions.some(({ ids }) => ids !== 'all' && ids.length > 0);
};

const namesOne = (text: string, requests: readonly ApprovalRequest[]): boolean => {
  const ids = requests.flatMap(({ id }) => [id, shortRequestID({ id })]);
  return new RegExp(`(?<!\\w)(?:${ids.join('|')})(?!\\w)`, 'i').test(text);
};

/**
 * What a message decides, by `decisions` (the header `x-approval`, items of a response) or else by its text. Undefined: it is a prompt. While a request is open,
 * nothing is a prompt that names it or begins like a decision.
 */
export const readDecision = (
  { decisions, text }: { readonly decisions: readonly ApprovalDecision[] | undefined; readonly text: string },
  requests: DecidableRequests,
): ReadDecision | undefined => {
  const { open, shown } = requests;
  const unclear = (problem: ApprovalProblem, understood: readonly ApprovalDecision[] = []): ReadDecision => ({
    ...{ kind: 'unclear', problem, decisions: understood },
  });
  const closed = shown.filter(({ id }) => open.every((request) => request.id !== id));
  const parsed: ParsedApproval | undefined =
    decisions === undefined ? parseApproval(text, [...open, ...closed]) : { kind: 'decided', decisions };
  if (open.length === 0)
    return parsed !== undefined && isAboutRequests(parsed)
      ? unclear({ kind: 'none-open' }, parsed.decisions)
      : undefined;
  if (parsed?.kind === 'decided') return settle(parsed.decisions, requests);
  const isNamed = namesOne(text, open);
  if (parsed?.problem.kind === 'no-id' && isNamed) return unclear({ kind: 'other-words' }, parsed.decisions);
  if (parsed !== undefined) return parsed;
  if (isNamed) return unclear({ kind: 'no-verb' });
  return isAlmostApproval(text) ? unclear({ kind: 'no-id' }) : undefined;
};
