import * as v from 'valibot';
import { internalError, invalid, ok, parseBody, refusedResponse } from '../envelope.ts';
import { createIdempotency, type Run } from '../idempotency.ts';
import type { BalanceHooks, RelayInterceptor } from '../interceptor.ts';
import { type DemoUser, formatAmount, toAmount, toUnits } from '../records/users.ts';

import { addHistory, currentTime, type RelayWorld, touchUser } from '../world.ts';
import { parseId, type RelayCall, type RelayRoute } from './table.ts';
import { userView } from './users.ts';

const Change = v.object({
  balance: v.pipe(v.number(), v.finite(), v.gtValue(0)),
  operation: v.picklist(['add', 'set', 'subtract']),
  notes: v.optional(v.string(), ''),
});
type Change = v.InferOutput<typeof Change>;

/** What a column of 20 digits, 8 of them decimals, cannot hold. */
const COLUMN_LIMIT = toUnits('1000000000000');

const newBalance = ({ balance }: DemoUser, { operation, balance: amount }: Change): bigint | undefined => {
  // Past this a number has no plain digits any more, and the column cannot hold it.
  if (amount >= 1e12) return undefined;
  const units = toUnits(amount);
  const next = { add: balance + units, set: units, subtract: balance - units }[operation];
  // An addition that leaves the balance below zero is refused as well.
  return next < 0n ? undefined : next;
};

type CreditOrder = { readonly call: RelayCall; readonly userId: number; readonly change: Change };
type Applied = { readonly data: object } | { readonly refusal: Response };

const apply = (world: RelayWorld, { call, userId, change }: CreditOrder, hasHistory: boolean): Applied => {
  const user = touchUser(world, userId);
  if (user === undefined)
    return { refusal: refusedResponse({ status: 404, message: 'user not found', reason: 'USER_NOT_FOUND' }) };
  const next = newBalance(user, change);
  if (next === undefined || next >= COLUMN_LIMIT) return { refusal: internalError() };
  const value = next - user.balance;
  const recorded = toUnits(toAmount(next) - toAmount(user.balance));
  user.balance = next;
  user.updated_at = currentTime(world);
  const { notes } = change;
  const idempotencyKey = call.request.headers.get('idempotency-key');
  // Less than a unit rounds to nothing, and nothing has no history.
  if (value === 0n) return { data: userView(world, user) };
  world.credits.push({ userId, amount: formatAmount(value), notes, idempotencyKey });
  // The history holds a difference of doubles, which is a little off at large balances.
  if (hasHistory) addHistory(world, { used_by: userId, type: 'admin_balance', value: recorded, notes });
  return { data: userView(world, user) };
};

type BalanceNeeds = {
  readonly world: RelayWorld;
  readonly hooksFor: RelayInterceptor['balanceHooks'] | undefined;
  readonly actorId: () => number;
};

/** `POST users/:id/balance`: the one route where a retry can cost money, so it has hooks at every step. */
export const createBalanceRoute = ({ world, hooksFor, actorId }: BalanceNeeds): RelayRoute => {
  const records = createIdempotency(world.clock);

  const credit = async (order: CreditOrder, run: Run, hooks: BalanceHooks | undefined): Promise<Response> => {
    await hooks?.beforeCredit();
    const applied = apply(world, order, hooks?.hasHistory ?? true);
    if ('refusal' in applied) {
      run.fail();
      return applied.refusal;
    }
    const reply = await hooks?.afterCredit(run);
    if (reply !== undefined) return reply;
    run.succeed(applied.data);
    return hooks?.beforeResponse() ?? ok(applied.data);
  };

  return async (call) => {
    const hooks = hooksFor?.(call.request, call.target);
    const reply = await hooks?.before();
    if (reply !== undefined) return reply;
    const userId = parseId(call.params);
    if (userId === undefined) return refusedResponse({ status: 400, message: 'Invalid user ID' });
    const change = parseBody(Change, call.body);
    if (change === undefined) return invalid('balance, operation or notes failed on its tag');
    const fingerprint = JSON.stringify(['POST', 'users/:id/balance', actorId(), userId, change]);
    const begun = records.begin(call.request.headers.get('idempotency-key'), fingerprint);
    if ('reply' in begun) return hooks?.beforeResponse() ?? begun.reply;
    return credit({ call, userId, change }, begun.run, hooks);
  };
};
