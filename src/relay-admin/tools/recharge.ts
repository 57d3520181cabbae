import * as v from 'valibot';
import { createRecharge, type RechargeNeeds } from '../recharge/recharge.ts';
import { RechargeResult } from '../recharge/result.ts';
import { defineTool, type Tool, WRITING_HINTS } from '../tool.ts';

const MARKER_RULE = 'expected rc_ and 16 hexadecimal digits, the reference of an earlier recharge';
const KEY_RULE = 'expected 16 to 128 characters of A-Z a-z 0-9 - . _ ~';

const Input = v.strictObject({
  preview_token: v.pipe(
    v.string(),
    v.maxLength(400, 'expected the preview_token of preview_recharge, unchanged'),
    v.description('the preview_token of preview_recharge, unchanged'),
  ),
  idempotency_key: v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9._~-]{16,128}$/, KEY_RULE),
    v.description(
      'one stable key for this recharge, 16 to 128 characters of A-Z a-z 0-9 - . _ ~, such as a new UUID; the same again when the same recharge is asked for again',
    ),
  ),
  acknowledge_doubt: v.optional(
    v.pipe(
      v.string(MARKER_RULE),
      v.regex(/^rc_[0-9a-f]{16}$/, MARKER_RULE),
      v.description(
        'Only where preview_recharge asks for it: the reference of an earlier recharge of the same user and amount whose outcome is unknown, such as rc_0123456789abcdef. A person has to decide that this one is credited on top of it',
      ),
    ),
  ),
});

/** The `recharge` tool. Only this tool moves money. */
export const createRechargeTool = (needs: RechargeNeeds): Tool => {
  const recharge = createRecharge(needs);
  return defineTool({
    name: 'recharge',
    title: 'Recharge a user',
    description:
      'Adds the credit that preview_recharge has shown, to the user it has shown, once. Call it only after a person has agreed to the preview. A preview_token and an idempotency_key belong to each other from the first call on; calling again with the same pair never credits again and returns the outcome. The outcome is verified, or accepted_unverified, which is not success: never report it as done and never try again with a new preview; call again with the same pair to look once more, or look for the marker in the balance history of the user with read. A second recharge of the same user and amount after an unknown outcome is refused without acknowledge_doubt. Example: {"preview_token": "rp1...", "idempotency_key": "5f0c7c1e-8a55-4a1e-9a55-6f6f3c1d2b10"}.',
    annotations: WRITING_HINTS,
    input: Input,
    output: RechargeResult,
    run: ({ preview_token: token, idempotency_key: key, acknowledge_doubt: acknowledgedDoubt }, call) =>
      recharge({ token, key, acknowledgedDoubt }, call),
  });
};
