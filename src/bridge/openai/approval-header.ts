import { type ApprovalDecision, badInput, REASON_CHARS } from '../request.ts';

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
  if (rejected === undefined)
    throw badInput(
      'invalid_value',
      HEADER,
      `Invalid value at '${HEADER}': expected "approve ID, ID" or "reject ID why"`,
    );
  const message = text.slice(0, REASON_CHARS).trim();
  return { isApproved: false, ids: [rejected], ...(message === '' ? {} : { message }) };
};
