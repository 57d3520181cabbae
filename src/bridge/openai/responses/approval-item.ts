import * as v from 'valibot';
import { type ApprovalDecision, REASON_CHARS } from '../../request.ts';
import { parseMember } from '../body.ts';

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
  const message = isApproved ? '' : (reason ?? '').slice(0, REASON_CHARS).trim();
  return {
    decision: { isApproved, ids: [id], ...(message === '' ? {} : { message }) },
    text: `${isApproved ? 'approve' : 'reject'} ${id}${message === '' ? '' : `: ${message}`}`,
  };
};
