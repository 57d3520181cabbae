import * as v from 'valibot';
import { type ApprovalDecision, invalidValue, REASON_CHARS } from '../request.ts';
import { parseMember } from './body.ts';

const HEADER = 'x-approval';
const ID = '[\\w.:-]{1,200}';
const APPROVE = new RegExp(`^approve\\s+(${ID}(?:\\s*,\\s*${ID})*)$`, 'i');
const REJECT = new RegExp(`^reject\\s+(${ID})(?:[\\s,]+(.*))?$`, 'i');

/** The reason of a rejection, for the agent. */
const reasonOf = (text: string): Pick<ApprovalDecision, 'message'> => {
  const message = text.slice(0, REASON_CHARS).trim();
  return message === '' ? {} : { message };
};

/** The decision in the header `x-approval`: `approve ID, ID` or `reject ID text`. Faults with `bad-input` if it is malformed. */
export const parseApprovalHeader = (headers: Headers): ApprovalDecision | undefined => {
  const value = headers.get(HEADER)?.trim() ?? '';
  if (value === '') return undefined;
  const [, approved] = APPROVE.exec(value) ?? [];
  if (approved !== undefined) return { isApproved: true, ids: [...new Set(approved.split(/\s*,\s*/))] };
  const [, rejected, text = ''] = REJECT.exec(value) ?? [];
  if (rejected === undefined) throw invalidValue(HEADER, 'expected "approve ID, ID" or "reject ID why"');
  return { isApproved: false, ids: [rejected], ...reasonOf(text) };
};

const ApprovalResponse = v.object({
  approval_request_id: v.string(),
  approve: v.boolean(),
  reason: v.nullish(v.string()),
});

/** Of permission requests of the agent. Any other id is of another platform. */
const REQUEST_ID = /^per_\w{1,200}$/;

/**
 * What an item `mcp_approval_response` decides; undefined where that is nothing of the agent. `text`: as a user would write it, so that
 * it is the same in every form of the history.
 */
export const parseApprovalItem = (
  item: Readonly<Record<string, unknown>>,
  at: string,
): { readonly decision: ApprovalDecision; readonly text: string } | undefined => {
  const { approval_request_id: id, approve: isApproved, reason } = parseMember(ApprovalResponse, item, at);
  if (!REQUEST_ID.test(id)) return undefined;
  const why = isApproved ? {} : reasonOf(reason ?? '');
  return {
    decision: { isApproved, ids: [id], ...why },
    text: `${isApproved ? 'approve' : 'reject'} ${id}${why.message === undefined ? '' : `: ${why.message}`}`,
  };
};
