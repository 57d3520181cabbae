import { badInput } from './bad-input.ts';
import type { Verdict } from './openai/request.ts';

const HEADER = 'x-approval';
const ID = '[\\w.:-]{1,200}';
const APPROVE = new RegExp(`^approve\\s+(${ID}(?:\\s*,\\s*${ID})*)$`, 'i');
const REJECT = new RegExp(`^reject\\s+(${ID})(?:[\\s,]+(.*))?$`, 'i');
/** As much as an agent takes. */
const MESSAGE_CHARS = 4000;

/** The header `x-approval`: `approve ID, ID` or `reject ID words`. A malformed one is a fault, for it was meant to count. */
export const verdictOf = (headers: Headers): Verdict | undefined => {
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
