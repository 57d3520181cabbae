const HOUR_MS = 3_600_000;

/** An upstream account; `schedulable` is the operator's switch, the times are the platform's own. */
export type DemoAccount = {
  readonly id: number;
  name: string;
  notes: string;
  platform: string;
  type: string;
  status: string;
  schedulable: boolean;
  concurrency: number;
  priority: number;
  error_message: string;
  group_ids: number[];
  models: string[];
  extra: Record<string, unknown>;
  rate_limited_at: string | null;
  rate_limit_reset_at: string | null;
  overload_until: string | null;
  temp_unschedulable_until: string | null;
  temp_unschedulable_reason: string;
  expires_at: number | null;
  /** Only accounts with a quota have these. */
  quota_limit?: number;
  quota_used?: number;
  updated_at: string;
};

type Named = { readonly id: number; readonly name: string; readonly platform: string; readonly updated_at: string };

const createAccount = (named: Named): DemoAccount => ({
  notes: '',
  type: 'apikey',
  status: 'active',
  schedulable: true,
  concurrency: 3,
  priority: 50,
  error_message: '',
  group_ids: [],
  models: [],
  extra: {},
  rate_limited_at: null,
  rate_limit_reset_at: null,
  overload_until: null,
  temp_unschedulable_until: null,
  temp_unschedulable_reason: '',
  expires_at: null,
  ...named,
});

/** Four accounts: one in use, one switched off, one with a model at rest, one that is broken and limited as a whole. */
export const seedAccounts = (nowMs: number): DemoAccount[] => {
  const now = new Date(nowMs).toISOString();
  const later = new Date(nowMs + HOUR_MS).toISOString();
  const account = (id: number, name: string, platform: string) =>
    createAccount({ id, name, platform, updated_at: now });
  const resting = { rate_limited_at: now, rate_limit_reset_at: later, reason: 'upstream 429' };
  return [
    { ...account(1, 'openai-main', 'openai'), group_ids: [1, 3], models: ['gpt-5', 'gpt-5-mini'] },
    { ...account(2, 'claude-team', 'anthropic'), schedulable: false, group_ids: [2], models: ['claude-sonnet-4-5'] },
    {
      ...account(3, 'gemini-pool', 'gemini'),
      type: 'oauth',
      group_ids: [3],
      models: ['gemini-2.5-pro', 'gemini-2.5-flash'],
      extra: { model_rate_limits: { 'gemini-2.5-pro': resting } },
    },
    {
      ...account(4, 'openai-spare', 'openai'),
      status: 'error',
      error_message: 'upstream answered 401',
      group_ids: [1],
      rate_limited_at: now,
      rate_limit_reset_at: later,
      models: ['gpt-5'],
    },
  ];
};
