type Given = Readonly<Record<string, unknown>>;
export type NamedCall = readonly [tool: string, given: Given];

/** One good call of each tool that only reads. */
export const READING_CALLS: readonly NamedCall[] = [
  ['describe', {}],
  ['health', {}],
  ['read', { path: 'users', query: { page_size: 5 } }],
  ['find_user', { email: 'alice@example.com' }],
  ['preview_recharge', { user_id: 2, amount: '12.5' }],
  ['model_control_options', { model: 'gpt-5' }],
];

/** One good call of each tool that changes something, but `recharge`, which needs a preview first. */
export const CHANGING_CALLS: readonly NamedCall[] = [
  ['update_user_limits', { user_id: 2, rpm_limit: 61 }],
  ['set_account_schedulable', { account_id: 1, schedulable: false }],
];

export const READING_TOOLS: readonly string[] = READING_CALLS.map(([tool]) => tool);
export const CHANGING_TOOLS: readonly string[] = ['recharge', ...CHANGING_CALLS.map(([tool]) => tool)];

/** The nine, in the order in which they are listed. */
export const TOOLS: readonly string[] = [
  'describe',
  'health',
  'read',
  'find_user',
  'preview_recharge',
  'recharge',
  'update_user_limits',
  'set_account_schedulable',
  'model_control_options',
];
