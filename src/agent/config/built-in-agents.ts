import { type PermissionSettings, rulesOf } from '../permission-rules.ts';
import type { Rule } from '../session.ts';
import { tableIn } from './model-names.ts';

/** `primary` talks with people, `subagent` is asked by other agents, `all` does both. */
export type AgentMode = 'primary' | 'subagent' | 'all';

type BuiltIn = {
  readonly description: string;
  readonly mode: AgentMode;
  readonly isHidden: boolean;
  readonly permission: PermissionSettings;
};

/** What every agent may do unless something later says otherwise. */
export const DEFAULT_RULES: readonly Rule[] = rulesOf('allow');

const BUILT_IN: ReadonlyMap<string, BuiltIn> = new Map([
  [
    'build',
    { description: 'Answers, and uses every tool that it may.', mode: 'primary', isHidden: false, permission: {} },
  ],
  [
    'plan',
    {
      description: 'Looks and thinks ahead without changing files.',
      mode: 'primary',
      isHidden: false,
      permission: { edit: 'deny' },
    },
  ],
  [
    'general',
    {
      description: 'Works through a task of several steps for another agent and reports what came of it.',
      mode: 'subagent',
      isHidden: false,
      permission: {},
    },
  ],
  ['title', { description: 'Names a session.', mode: 'primary', isHidden: true, permission: { '*': 'deny' } }],
  [
    'compaction',
    { description: 'Sums up a long session.', mode: 'primary', isHidden: true, permission: { '*': 'deny' } },
  ],
]);

/** The agent that answers when nobody names one, as long as it may. */
export const FIRST_AGENT = 'build';
const OWN: BuiltIn = { description: '', mode: 'all', isHidden: false, permission: {} };

/** What an agent is before the file says anything of it. */
export const builtInOf = (id: string): BuiltIn & { readonly isNative: boolean } => ({
  ...(BUILT_IN.get(id) ?? OWN),
  isNative: BUILT_IN.has(id),
});

/** The ids of all agents of a configuration, right or wrong, without the disabled ones. */
export const agentIds = (file: unknown): readonly string[] => {
  const written = tableIn(file, 'agent');
  return [...new Set([...BUILT_IN.keys(), ...Object.keys(written)])].filter(
    (id) => tableIn(written, id).disable !== true,
  );
};

/** The agents of a configuration, right or wrong, that a person may talk with. */
export const primaryAgentIds = (file: unknown): readonly string[] => {
  const written = tableIn(file, 'agent');
  return agentIds(file).filter((id) => {
    const { mode, hidden } = tableIn(written, id);
    const { isHidden, mode: usually } = builtInOf(id);
    return (mode ?? usually) !== 'subagent' && (hidden ?? isHidden) !== true;
  });
};
