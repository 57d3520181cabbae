import * as v from 'valibot';
import { boundBody, internalError, invalid, ok, refused } from '../envelope.ts';
import { damagedReply, earlyReply } from '../faults/balance.ts';
import type { BalanceFault, FaultQueue } from '../faults/names.ts';
import { pause, type Trouble } from '../faults/responses.ts';
import { createIdempotency, type Run } from '../idempotency.ts';
import { amountText, type DemoUser, unitsOf } from '../records/users.ts';

import { addHistory, type RelayWorld, timeIn, touchUser } from '../world.ts';
import { type Call, idIn, type RelayRoute } from './table.ts';
import { userView } from './users.ts';

const Change = v.object({
  balance: v.pipe(v.number(), v.finite(), v.gtValue(0)),
  operation: v.picklist(['add', 'set', 'subtract']),
  notes: v.optional(v.string(), ''),
});
type Change = v.InferOutput<typeof Change>;

/** What a column of 20 digits, 8 of them decimals, has no room for. */
const COLUMN_LIMIT = unitsOf('1000000000000');

const newBalance = ({ balance }: DemoUser, { operation, balance: amount }: Change): bigint | undefined => {
  // Past this a number has no plain digits any more, and the column no room.
  if (amount >= 1e12) return undefined;
  const units = unitsOf(amount);
  const next = { add: balance + units, set: units, subtract: balance - units }[operation];
  return operation === 'subtract' && next < 0n ? undefined : next;
};

type Asked = { readonly call: Call; readonly userId: number; readonly change: Change };
type Applied = { readonly data: object } | { readonly refusal: Response };

const apply = (world: RelayWorld, { call, userId, change }: Asked, hasHistory: boolean): Applied => {
  const user = touchUser(world, userId);
  if (user === undefined)
    return { refusal: refused({ status: 404, message: 'user not found', reason: 'USER_NOT_FOUND' }) };
  const next = newBalance(user, change);
  if (next === undefined || next >= COLUMN_LIMIT) return { refusal: internalError() };
  const value = next - user.balance;
  user.balance = next;
  user.updated_at = timeIn(world);
  const { notes } = change;
  const idempotencyKey = call.request.headers.get('idempotency-key');
  // Less than a unit rounds to nothing, and nothing has no history.
  if (value === 0n) return { data: userView(world, user) };
  world.credits.push({ userId, amount: amountText(value), notes, idempotencyKey });
  if (hasHistory) addHistory(world, { used_by: userId, type: 'admin_balance', value, notes });
  return { data: userView(world, user) };
};

type BalanceNeeds = {
  readonly world: RelayWorld;
  readonly trouble: Trouble;
  readonly faults: FaultQueue<BalanceFault>;
  readonly actorId: () => number;
};

/** `POST users/:id/balance`: the one route where a second try can cost money, with all that can go wrong on it. */
export const createBalanceRoute = ({ world, trouble, faults, actorId }: BalanceNeeds): RelayRoute => {
  const records = createIdempotency(world.clock);

  const finish = async (asked: Asked, run: Run, fault: BalanceFault | undefined): Promise<Response> => {
    const { request } = asked.call;
    // A slow link behind the platform: the credit is made whether or not the caller still waits for it.
    if (fault === 'late') await pause(world.clock, world.dials.delayMs, new AbortController().signal);
    const applied = apply(world, asked, fault !== 'no-history');
    if ('refusal' in applied) {
      run.fail();
      return applied.refusal;
    }
    // In these two nobody tells the key how it ended, and it stays in progress for a day.
    if (fault === 'stuck') return trouble.never(request);
    if (fault === 'unavailable-after') return trouble.storeUnavailable();
    if (fault === 'error-after') {
      run.fail();
      return trouble.internal();
    }
    // A caller who leaves cancels the platform's work, the note about the key included.
    if (fault === 'slow' && !(await pause(world.clock, world.dials.delayMs, request.signal)))
      return trouble.never(request);
    run.succeed(applied.data);
    return damagedReply(trouble, fault, request) ?? ok(applied.data);
  };

  return async (call) => {
    const fault = faults.take(call.target);
    const reply = earlyReply(trouble, fault, call.request);
    if (reply !== undefined) return reply;
    const userId = idIn(call.params);
    if (userId === undefined) return refused({ status: 400, message: 'Invalid user ID' });
    const change = boundBody(Change, call.body);
    if (change === undefined) return invalid('balance, operation or notes failed on its tag');
    const fingerprint = JSON.stringify(['POST', 'users/:id/balance', actorId(), userId, change]);
    const begun = records.begin(call.request.headers.get('idempotency-key'), fingerprint);
    if ('reply' in begun) return damagedReply(trouble, fault, call.request) ?? begun.reply;
    return finish({ call, userId, change }, begun.run, fault);
  };
};
