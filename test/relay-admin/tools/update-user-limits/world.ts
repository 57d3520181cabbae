import { createUpdateUserLimitsTool } from '../../../../src/relay-admin/tools/update-user-limits.ts';
import { createWorld, type Script } from '../../change/world.ts';

export const user = (rpm_limit: unknown, concurrency: unknown, id = 7) => ({
  id,
  email: 'someone@example.org',
  role: 'user',
  status: 'active',
  balance: 1.5,
  rpm_limit,
  concurrency,
});

export const BEFORE = user(30, 5);

export const AFTER = user(60, 5);

export const ASK = { user_id: 7, rpm_limit: 60 };

export const worldWith = (script: Script = {}) => {
  const world = createWorld({ reads: [BEFORE, AFTER], ...script });
  const tool = createUpdateUserLimitsTool(world.needs);
  return { ...world, tool, ask: (given: unknown, signal?: AbortSignal) => world.call(tool, given, signal) };
};
