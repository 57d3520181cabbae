import { isRecord } from '../../core/record.ts';
import { matchesWildcard } from '../../core/wildcard.ts';
import { type ConfigPath, type ConfigProblem, withoutEffectNow } from './names.ts';
import type { ConfigSettings } from './schema.ts';

/** The one tool whose calls have patterns, and the one that no tool server brings. */
const TASK = 'task';

const isLiteral = (tool: string): boolean => !/[*?]/.test(tool);

const idleIn = (permission: unknown, path: ConfigPath, prefixes: readonly string[]): readonly ConfigProblem[] =>
  Object.entries(isRecord(permission) ? permission : {}).flatMap(([tool, actions]): readonly ConfigProblem[] => {
    const isTask = matchesWildcard(TASK, tool);
    if (isTask) return [];
    if (isLiteral(tool) && !prefixes.some((prefix) => tool.startsWith(prefix)))
      return [{ path: [...path, tool], text: withoutEffectNow('no tool here has this name') }];
    return Object.keys(isRecord(actions) ? actions : {})
      .filter((pattern) => !matchesWildcard('*', pattern))
      .map((pattern) => ({
        path: [...path, tool, pattern],
        text: withoutEffectNow('the pattern of a call of these tools is always *'),
      }));
  });

/** Permission rules that can cover no call, whatever tools the servers bring. */
export const idleRules = ({ permission, agent = {}, mcp = {} }: ConfigSettings): readonly ConfigProblem[] => {
  const prefixes = Object.keys(mcp).map((server) => `${server.replace(/[^\w-]/g, '_')}_`);
  return [
    ...idleIn(permission, ['permission'], prefixes),
    ...Object.entries(agent).flatMap(([id, settings]) =>
      idleIn(settings.permission, ['agent', id, 'permission'], prefixes),
    ),
  ];
};
