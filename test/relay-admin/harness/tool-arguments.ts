import type { RelayAdmin } from '../../../src/relay-admin/app.ts';
import { previewed } from './world.ts';

/** In the order in which they are listed. */
export const TOOLS = [
  'describe',
  'health',
  'read',
  'find_user',
  'preview_recharge',
  'recharge',
  'update_user_limits',
  'set_account_schedulable',
  'model_control_options',
] as const;
export type ToolName = (typeof TOOLS)[number];

export const WRITERS: readonly ToolName[] = ['recharge', 'update_user_limits', 'set_account_schedulable'];
export const READERS: readonly ToolName[] = TOOLS.filter((name) => !WRITERS.includes(name));
/** Those that can do nothing without an answer to a request with the key. */
export const KEY_HOLDERS: readonly ToolName[] = [
  'read',
  'find_user',
  'preview_recharge',
  'recharge',
  'update_user_limits',
  'set_account_schedulable',
];

/** Arguments with which a tool does all its work. Those of `recharge` take a preview of their own. */
export const goodArguments = async (admin: RelayAdmin, name: ToolName): Promise<Readonly<Record<string, unknown>>> => {
  switch (name) {
    case 'describe':
    case 'health':
      return {};
    case 'read':
      return { path: 'accounts', query: { page_size: 50 } };
    case 'find_user':
      return { email: 'alice@example.com' };
    case 'preview_recharge':
      return { user_id: 2, amount: '12.5' };
    case 'recharge': {
      const token = await previewed(admin, 2, '12.5');
      return { preview_token: token, idempotency_key: `key-${token.slice(-22)}` };
    }
    case 'update_user_limits':
      return { user_id: 2, rpm_limit: 30, concurrency: 4, expected: { rpm_limit: 60 } };
    case 'set_account_schedulable':
      return { account_id: 1, schedulable: false };
    case 'model_control_options':
      return { model: 'gemini-2.5-pro' };
  }
};
