import type { ApprovalRequest } from '../../output.ts';
import type { ApprovalDecision } from '../../request.ts';
import type { Verdict } from './decisions.ts';
import type { ApprovalProblem } from './parser.ts';
import { shortRequestID } from './text.ts';

/** What is quoted of a message: it can be nothing but an id, or a slip of typing in one. */
const QUOTABLE = /^[\w.:-]{1,64}$/;

const shortID = (id: string): string => shortRequestID({ id });

/** What did not happen, in the words of what was tried. Header and text may have tried nothing that was understood. */
const nothingDone = (decisions: readonly ApprovalDecision[]): string => {
  const [isApproval, isRejection] = [true, false].map((wanted) =>
    decisions.some(({ isApproved }) => isApproved === wanted),
  );
  if (isApproval && isRejection) return 'Nothing was approved or rejected.';
  return isRejection ? 'Nothing was rejected.' : 'Nothing was approved.';
};

const understood = (decisions: readonly ApprovalDecision[]): string => {
  const parts = decisions.flatMap(({ isApproved, ids }) => {
    const named = ids === 'all' ? 'all' : ids.map(shortID).join(' ');
    return named === '' ? [] : [`"${isApproved ? 'approve' : 'reject'} ${named}"`];
  });
  return parts.length === 0 ? 'a part of this message' : parts.join(' and ');
};

/** What the user reads about a message that decided nothing. The requests that are still open follow it. */
export const toProblemText = (problem: ApprovalProblem, decisions: readonly ApprovalDecision[]): string => {
  const nothing = nothingDone(decisions);
  switch (problem.kind) {
    case 'none-open':
      return `There is no open permission request in this conversation: it was answered, it expired, or it belongs to another conversation. ${nothing}`;
    case 'unknown-id':
      return QUOTABLE.test(problem.word)
        ? `No open permission request has the id ${problem.word}. ${nothing}`
        : `No open permission request has this id. ${nothing}`;
    case 'ambiguous-id':
      return `Several open permission requests have the id ${problem.word}: write the whole id, in the same letter case. ${nothing}`;
    case 'closed':
      return `The permission request ${shortID(problem.id)} is not open any more: it was answered, or it expired. ${nothing}`;
    case 'cut-input':
      return `The input of the permission request ${shortID(problem.id)} is cut, so it can be approved only by its whole id: "approve ${problem.id}". ${nothing}`;
    case 'contradiction':
      return `This message approves and rejects ${shortID(problem.id)}, so nothing was decided.`;
    case 'not-shown':
      return `The open permission requests were not in the last answer: read them, and write it again. ${nothing}`;
    case 'no-id':
      return 'This message contains no id of a permission request, so nothing was decided.';
    case 'no-verb':
      return 'This message names a permission request but does not begin with "approve" or "reject", so nothing was decided.';
    case 'too-long':
      return 'This message is too long for a decision, so nothing was decided.';
    case 'other-words':
      return `Only ${understood(decisions)} was understood, so nothing was decided. After the ids of an approval write no more than another decision; after those of a rejection, a reason.`;
  }
};

const toList = (requests: readonly ApprovalRequest[]): string =>
  requests.map(({ id, tool }) => `${tool} (${shortID(id)})`).join(', ');

/** One line that says what was decided. `withheld`: what "approve all" has left out. */
export const toDecisionText = (verdicts: readonly Verdict[], withheld: readonly ApprovalRequest[]): string => {
  const requestsWith = (reply: 'once' | 'reject') =>
    verdicts.filter((verdict) => verdict.reply.reply === reply).map(({ request }) => request);
  const groups = [
    ['Approved', requestsWith('once')],
    ['Rejected', requestsWith('reject')],
    ['Not approved, because the input is cut', withheld],
  ] as const;
  return groups
    .flatMap(([what, requests]) => (requests.length === 0 ? [] : [`${what}: ${toList(requests)}.`]))
    .join(' ');
};
