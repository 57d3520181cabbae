import { createFindUserTool } from '../../../../src/relay-admin/tools/find-user.ts';
import { type Answering, type Asked, createScriptedRelay } from '../../harness/scripted-relay.ts';
import { callTool } from '../tool-calls.ts';

/** A user as the relay lists one. */
export type Row = Readonly<Record<string, unknown>>;

/** A user with this id and e-mail, and with what a tool must not show. */
export const user = (id: number, email: string, more: Row = {}): Row => ({
  id,
  email,
  username: `user ${id}`,
  role: 'user',
  status: 'active',
  balance: 12.5,
  frozen_balance: 0,
  concurrency: 5,
  rpm_limit: 0,
  notes: 'a note of the operator',
  api_keys: [{ key: 'sk-canary' }],
  last_used_at: null,
  created_at: '2026-01-01T00:00:00Z',
  ...more,
});

/** So many users with other e-mails. */
export const others = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, index) => user(1000 + index, `other-${index}@example.com`));

/** The page of the rows that was asked for. */
export const pageOf = (rows: readonly Row[], { query }: Asked) => {
  const [page, size] = [Number(query.page), Number(query.page_size)];
  return { items: rows.slice((page - 1) * size, page * size), total: rows.length, page, page_size: size, pages: 1 };
};

/** The tool over a relay that answers so. */
export const over = (answering: Answering) => {
  const { relay, asked } = createScriptedRelay(answering);
  const tool = createFindUserTool({ relay });
  return { asked, tool, find: (email: unknown = 'ada@example.com') => callTool(tool, { email }) };
};

/** The tool over a relay with these users. */
export const among = (rows: readonly Row[]) => over((asked) => pageOf(rows, asked));
