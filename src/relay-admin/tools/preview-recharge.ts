import * as v from 'valibot';
import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { RelayError } from '../errors/errors.ts';
import { Amount, formatUnits, LARGEST_EXACT, largestSize, parseUnits, type Units } from '../money.ts';
import type { Journal } from '../recharge/journal.ts';
import { assertNotNegative } from '../recharge/negative-balance.ts';
import { PREVIEW_LIFETIME_MS, type PreviewTokens } from '../recharge/preview-token.ts';
import { CREDIT_SIGNS, findDoubt, findUnresolved, type UnresolvedRecharge } from '../recharge/unresolved.ts';
import type { RelayClient } from '../relay/client.ts';
import { RelayId, readUser, ShownUser, toShownUser, type User } from '../relay/users.ts';
import { defineTool, readOnlyHints, type Tool } from '../tool.ts';

type PreviewRechargeNeeds = {
  readonly relay: RelayClient;
  readonly journal: Journal;
  readonly tokens: PreviewTokens;
  readonly clock: Clock;
  readonly largestRecharge: Units;
  readonly isReadOnly: boolean;
};

const WARNINGS = {
  user_not_active: 'The user is not active. Credit it only when the operator says so about this very user.',
  user_is_admin: 'The user is an administrator of the relay.',
  large_amount: 'The amount is at least half of the largest that is allowed.',
  much_more_than_balance: 'The amount is more than ten times the present balance.',
  running_usage: 'The user is using the relay right now: the balance moves by itself.',
  balance_rounded:
    'The relay shows balances over 90 million rounded: the last decimals of these may differ from its own.',
  earlier_recharge_credited: 'An earlier recharge of this user seems to have been credited. This would be another.',
  earlier_recharge_balance_rose:
    'Since an earlier recharge of unknown outcome the balance rose by exactly its amount: it was probably credited. This would be another.',
  earlier_recharge_unknown:
    'Of an earlier recharge nobody knows whether it was credited; its credit may still come. This would come on top of it.',
} as const;
type WarningCode = keyof typeof WARNINGS;
const CODES: readonly [WarningCode, ...WarningCode[]] = [
  'user_not_active',
  'user_is_admin',
  'large_amount',
  'much_more_than_balance',
  'running_usage',
  'balance_rounded',
  'earlier_recharge_credited',
  'earlier_recharge_balance_rose',
  'earlier_recharge_unknown',
];

/** What the summary says of a recharge of the same user and amount that was not verified, by what shows that it was credited. */
const DOUBTS = {
  relay_said_so: 'was accepted by the relay and could not be verified: this would be a second credit',
  history_row: 'is in the history of the user: this would be a second credit',
  balance_rose: 'was probably credited, because the balance rose by its amount: this would be a second credit',
  unknown: 'has an unknown outcome: this may be a second credit',
} as const;

const NO_TOKEN = 'This server is in read-only mode: it made no preview_token, and nothing can be credited with this.';

const Input = v.strictObject({
  user_id: v.pipe(RelayId, v.description('id of the user, from find_user; a whole number such as 7')),
  amount: v.pipe(
    Amount,
    v.description('how much to add, a decimal string over zero with at most 8 decimals, such as "12.5"'),
  ),
});
const Output = v.strictObject({
  summary: v.pipe(v.string(), v.description('what a person is asked to confirm')),
  user: ShownUser,
  amount: v.string(),
  balance_now: v.string(),
  balance_after: v.string(),
  warnings: v.array(v.strictObject({ code: v.picklist(CODES), text: v.string() })),
  earlier_recharges: v.array(
    v.strictObject({
      reference: v.string(),
      amount: v.string(),
      sent_at: v.string(),
      seems_credited: v.pipe(
        v.boolean(),
        v.description(
          'whether the relay said so, its history shows it or the balance rose by exactly this amount; false does not mean that it was not credited: a credit can come late, and without a row',
        ),
      ),
      credit_sign: v.pipe(v.nullable(v.picklist(CREDIT_SIGNS)), v.description('what shows that it was credited')),
      balance_before: v.pipe(v.string(), v.description('before it was sent')),
      balance_change: v.pipe(
        v.string(),
        v.description('how the balance changed after it, as far as the next recharge'),
      ),
    }),
  ),
  acknowledge_doubt: v.pipe(
    v.nullable(v.string()),
    v.description(
      'the earlier recharge of this user and amount in doubt, which recharge has to be given as acknowledge_doubt; null: none',
    ),
  ),
  preview_token: v.pipe(v.nullable(v.string()), v.description('for recharge, unchanged; null in read-only mode')),
  expires_at: v.string(),
});

/** The relay counts `user_rpm_used` only for users with a limit of their own, `used` only in groups with one. */
const RpmStatus = v.object({
  user_rpm_used: v.fallback(v.number(), 0),
  per_group: v.fallback(v.nullish(v.array(v.object({ used: v.fallback(v.number(), 0) })), []), []),
});
/** A user whose last request is not older counts as using the relay: the only sign of users without any limit. */
const RECENT_USE_MS = 120_000;

/** Whether the user seems to use the relay right now. A relay that does not show it prevents no preview. */
const isInUse = async (
  { relay, clock }: PreviewRechargeNeeds,
  { id, last_used_at }: User,
  signal: AbortSignal,
): Promise<boolean> => {
  if (last_used_at !== null && Date.parse(last_used_at) > clock.now() - RECENT_USE_MS) return true;
  try {
    const status = v.safeParse(RpmStatus, await relay.get(`users/${id}/rpm-status`, {}, signal));
    if (!status.success) return false;
    const { user_rpm_used, per_group } = status.output;
    return user_rpm_used > 0 || (per_group ?? []).some(({ used }) => used > 0);
  } catch (error) {
    if (error instanceof RelayError) return false;
    throw error;
  }
};

const warningsFor = (
  user: User,
  {
    amount,
    isBusy,
    largest,
    unresolved,
  }: {
    readonly amount: Units;
    readonly isBusy: boolean;
    readonly largest: Units;
    readonly unresolved: readonly UnresolvedRecharge[];
  },
): { code: WarningCode; text: string }[] => {
  const applies: { readonly [Code in WarningCode]: boolean } = {
    user_not_active: user.status !== 'active',
    user_is_admin: user.role === 'admin',
    large_amount: amount * 2n >= largest,
    much_more_than_balance: user.balance > 0n && amount > user.balance * 10n,
    running_usage: isBusy,
    balance_rounded: largestSize(user.balance, user.balance + amount) > LARGEST_EXACT,
    earlier_recharge_credited: unresolved.some(({ creditSign: sign }) => sign !== null && sign !== 'balance_rose'),
    earlier_recharge_balance_rose: unresolved.some(({ creditSign }) => creditSign === 'balance_rose'),
    earlier_recharge_unknown: unresolved.some(({ creditSign }) => creditSign === null),
  };
  return CODES.filter((code) => applies[code]).map((code) => ({ code, text: WARNINGS[code] }));
};

/** The `preview_recharge` tool: shows what a recharge would do and creates the token that allows exactly this recharge. */
export const createPreviewRechargeTool = (needs: PreviewRechargeNeeds): Tool => {
  const { relay, journal, tokens, clock, largestRecharge, isReadOnly } = needs;
  /** The token and when it expires. In read-only mode there is no token, but the same expiry. */
  const tokenFor = async (user: User, amount: Units) =>
    isReadOnly ? { token: null, expiresAtMs: clock.now() + PREVIEW_LIFETIME_MS } : tokens.create(user, amount);
  return defineTool({
    name: 'preview_recharge',
    title: 'Preview a recharge',
    description: `Shows what adding credit to one user would do, and changes nothing. Use it before recharge: it answers with the user, the balance now and after, warnings, and a preview_token that allows exactly this credit once and for 5 minutes. Show a person the summary, the e-mail and name in user, and every warning, and call recharge only after that person has agreed to them. Amounts are in the unit of the relay's balances, not in the currency that a user has paid in. The amount is a decimal string of at most ${formatUnits(largestRecharge)}. Find the id with find_user first. Example: {"user_id": 7, "amount": "12.5"}.`,
    annotations: readOnlyHints(false),
    input: Input,
    output: Output,
    async run({ user_id, amount }, { signal }) {
      const units = parseUnits(amount) ?? 0n;
      if (units > largestRecharge)
        throw new RelayError({
          kind: 'amount-over-limit',
          amount: formatUnits(units),
          limit: formatUnits(largestRecharge),
        });
      await untilAborted(journal.refresh(), signal);
      const user = await readUser(relay, user_id, signal);
      assertNotNegative(user.balance, units, largestRecharge);
      const [isBusy, unresolved] = await Promise.all([
        isInUse(needs, user, signal),
        findUnresolved(needs, user, signal),
      ]);
      const doubt = findDoubt(needs, { userId: user_id, amount: formatUnits(units) });
      const sign = unresolved.find(({ reference }) => reference === doubt)?.creditSign ?? 'unknown';
      const { token, expiresAtMs } = await untilAborted(tokenFor(user, units), signal);
      const expiresAt = new Date(expiresAtMs).toISOString();
      const [before, after] = [formatUnits(user.balance), formatUnits(user.balance + units)];
      return {
        summary: `Add ${formatUnits(units)} to the balance of user ${user_id}: ${before} becomes ${after}. ${doubt === undefined ? '' : `Recharge ${doubt} of the same user and amount ${DOUBTS[sign]}. `}${token === null ? NO_TOKEN : `Valid until ${expiresAt}.`}`,
        user: toShownUser(user),
        amount: formatUnits(units),
        balance_now: before,
        balance_after: after,
        warnings: warningsFor(user, { amount: units, isBusy, largest: largestRecharge, unresolved }),
        earlier_recharges: unresolved.map((earlier) => ({
          reference: earlier.reference,
          amount: earlier.amount,
          sent_at: earlier.sentAt,
          seems_credited: earlier.creditSign !== null,
          credit_sign: earlier.creditSign,
          balance_before: earlier.balanceBefore,
          balance_change: earlier.balanceChange,
        })),
        acknowledge_doubt: doubt ?? null,
        preview_token: token,
        expires_at: expiresAt,
      };
    },
  });
};
