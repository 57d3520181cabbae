import * as v from 'valibot';
import type { CallDeadline } from '../call-deadline.ts';
import { applyChange, type ChangeNeeds } from '../change/change.ts';
import {
  assertExpected,
  type ChangeReport,
  differingNames,
  OUTCOME_FIELDS,
  type SettingValues,
  toOutcomeFields,
} from '../change/outcome.ts';
import { type ChangeQueueNeeds, createChangeQueue } from '../change/serialize.ts';
import { RelayError } from '../errors/errors.ts';
import { readUserLimits, type UserLimits } from '../relay/users.ts';
import { defineTool, type Tool, WRITING_HINTS } from '../tool.ts';

const NAME = 'update_user_limits';
const ID_RULE = 'expected a user id, a whole number over 0';
const BOOLEAN_RULE = 'expected true or false';
const CURRENT_RULE = 'expected a whole number';
const LARGEST_RPM = 1_000_000;
const LARGEST_CONCURRENCY = 100_000;

const limitUpTo = (most: number) => {
  const rule = `expected a whole number from 0 to ${most}`;
  return v.pipe(v.number(rule), v.safeInteger(rule), v.minValue(0, rule), v.maxValue(most, rule));
};

const current = (what: string) =>
  v.optional(
    v.pipe(v.number(CURRENT_RULE), v.safeInteger(CURRENT_RULE), v.description(`${what} as last read, such as 30`)),
  );

const Input = v.strictObject({
  user_id: v.pipe(
    v.number(ID_RULE),
    v.safeInteger(ID_RULE),
    v.minValue(1, ID_RULE),
    v.description('The id of the user, a whole number over 0, such as 7'),
  ),
  rpm_limit: v.optional(
    v.pipe(
      limitUpTo(LARGEST_RPM),
      v.description('Requests per minute, a whole number such as 60. Left out: unchanged. 0: no limit, see unlimited'),
    ),
  ),
  concurrency: v.optional(
    v.pipe(
      limitUpTo(LARGEST_CONCURRENCY),
      v.description(
        'Requests at the same time, a whole number such as 5. Left out: unchanged. 0: no limit, see unlimited',
      ),
    ),
  ),
  unlimited: v.optional(
    v.pipe(
      v.boolean(BOOLEAN_RULE),
      v.description(
        'Has to be true when a limit is 0, which takes that limit away; otherwise leave it out. Example: true',
      ),
    ),
  ),
  expected: v.optional(
    v.pipe(
      v.strictObject({ rpm_limit: current('rpm_limit'), concurrency: current('concurrency') }),
      v.description('Changes nothing unless the user has these values now, such as {"rpm_limit": 30}'),
    ),
  ),
});

const Limits = v.strictObject({ rpm_limit: v.number(), concurrency: v.number() });

const Output = v.strictObject({
  user_id: v.number(),
  outcome: OUTCOME_FIELDS.outcome,
  applied: OUTCOME_FIELDS.applied,
  before: v.pipe(Limits, v.description('0 or less is unlimited')),
  after: v.pipe(v.nullable(Limits), v.description('as read afterwards; null when that failed')),
  reason: OUTCOME_FIELDS.reason,
  note: OUTCOME_FIELDS.note,
});
type Result = v.InferOutput<typeof Output>;

const definedLimits = ({
  rpm_limit,
  concurrency,
}: Pick<v.InferOutput<typeof Input>, 'rpm_limit' | 'concurrency'>): SettingValues => ({
  ...(rpm_limit === undefined ? {} : { rpm_limit }),
  ...(concurrency === undefined ? {} : { concurrency }),
});

const invalid = (what: string): RelayError => new RelayError({ kind: 'invalid-argument', what });

/** The limits to set. Zero removes a limit, so it needs `unlimited: true` as well. */
const requestedLimits = (input: v.InferOutput<typeof Input>): SettingValues => {
  const requested = definedLimits(input);
  const values = Object.values(requested);
  if (values.length === 0) throw invalid('expected rpm_limit, concurrency or both');
  if (values.includes(0) && input.unlimited !== true)
    throw invalid('a limit of 0 means unlimited on the relay; expected unlimited: true with it');
  if (input.unlimited === true && !values.includes(0))
    throw invalid('unlimited: true goes with a limit of 0, and none of the limits is 0');
  return requested;
};

const expectedLimits = ({ expected }: v.InferOutput<typeof Input>): SettingValues => {
  if (expected === undefined) return {};
  const settings = definedLimits(expected);
  if (Object.keys(settings).length === 0) throw invalid('expected: expected rpm_limit, concurrency or both in it');
  return settings;
};

const DESCRIPTION = [
  'Sets rpm_limit (requests per minute), concurrency (requests at the same time) or both for one user of the relay.',
  'Use it when an operator asks for other limits; find_user gives the user id. A limit that is not named stays as it is,',
  'and 0, which is unlimited on the relay, needs unlimited: true. With expected, nothing is changed unless the user has',
  'those values now. The user is read, the change sent once, and the user read again: verified means accepted and read',
  'back; accepted_unverified confirms nothing, so look at reason and after. The limits are for the user as a whole, not',
  'per model, and hold for new requests. Example: {"user_id": 7, "rpm_limit": 60, "expected": {"rpm_limit": 30}}.',
].join(' ');

/** The `update_user_limits` tool. One change of a user at a time. */
export const createUpdateUserLimitsTool = (needs: ChangeNeeds & ChangeQueueNeeds): Tool => {
  const queue = createChangeQueue(needs);
  const change = async (input: v.InferOutput<typeof Input>, call: CallDeadline): Promise<Result> => {
    const { user_id } = input;
    const requested = requestedLimits(input);
    const expected = expectedLimits(input);
    const read = (signal: AbortSignal) => readUserLimits(needs.relay, user_id, signal);
    const release = await queue.acquire(String(user_id), call.signal);
    try {
      const before = await read(call.signal);
      assertExpected(expected, before);
      const toResult = (report: ChangeReport<UserLimits>): Result => ({
        user_id,
        before,
        after: report.after,
        ...toOutcomeFields(report),
      });
      if (differingNames(requested, before).length === 0)
        return toResult({ outcome: 'already_set', after: before, reason: null });
      const write = { method: 'PUT', path: `users/${user_id}` } as const;
      const hasRequested = (after: UserLimits): boolean => differingNames(requested, after).length === 0;
      return await applyChange(
        {
          tool: NAME,
          what: 'user',
          subject: user_id,
          write,
          requested,
          read,
          hasRequested,
          toResult,
          output: Output,
        },
        needs,
        call,
      );
    } finally {
      release();
    }
  };
  return defineTool({
    name: NAME,
    title: 'Update user limits',
    description: DESCRIPTION,
    annotations: WRITING_HINTS,
    input: Input,
    output: Output,
    run: change,
  });
};
