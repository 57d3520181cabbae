import { createModelControlOptionsTool } from '../../../../src/relay-admin/tools/model-control-options.ts';
import { type Asked, createScriptedRelay } from '../../harness/scripted-relay.ts';
import { callTool } from '../tool-calls.ts';

export type Row = Readonly<Record<string, unknown>>;

type World = { readonly accounts?: unknown; readonly groups?: unknown; readonly channels?: unknown };

export const account = (id: number, more: Row = {}): Row => ({
  id,
  name: `account ${id}`,
  platform: 'anthropic',
  status: 'active',
  schedulable: true,
  credentials: { token: 'canary-secret' },
  extra: {},
  error_message: 'canary-error',
  ...more,
});

export const group = (id: number, more: Row = {}): Row => ({
  id,
  name: `group ${id}`,
  platform: 'anthropic',
  status: 'active',
  rpm_limit: 60,
  rate_multiplier: 1.5,
  model_routing: null,
  ...more,
});

export const channel = (id: number, more: Row = {}): Row => ({
  id,
  name: `channel ${id}`,
  status: 'active',
  restrict_models: false,
  group_ids: [1],
  model_pricing: [],
  model_mapping: {},
  ...more,
});

const pageOf = (rows: unknown, { query }: Asked) => {
  if (!Array.isArray(rows)) return rows;
  const [page, size] = [Number(query.page), Number(query.page_size)];
  return { items: rows.slice((page - 1) * size, page * size), total: rows.length };
};

export const answerIn =
  ({ accounts = [], groups = [], channels = [] }: World) =>
  (asked: Asked): unknown => {
    if (asked.path === 'groups/all') return groups;
    if (asked.path === 'accounts') return pageOf(accounts, asked);
    if (asked.path === 'channels') return pageOf(channels, asked);
    return new Error(`Asked for ${asked.path}`);
  };

export const over = (world: World, hasKey = true) => {
  const { relay, asked } = createScriptedRelay(answerIn(world));
  const tool = createModelControlOptionsTool({ relay, hasKey });
  const call = async (given: unknown = {}) => JSON.parse(JSON.stringify(await callTool(tool, given)));
  return { asked, tool, call };
};

export const MODEL = 'claude-sonnet-4-5';
