import { isHidden } from './permission-rules.ts';
import type { Rule } from './session.ts';
import type { AgentTool } from './tools/tool.ts';

/** The tools that a model is told of under its agent's rules, each without what the rules deny of it. */
export const offeredTools = (tools: readonly AgentTool[], rules: readonly Rule[]): readonly AgentTool[] =>
  tools
    .filter(({ name }) => !isHidden(rules, name))
    .flatMap((tool) => (tool.underRules === undefined ? [tool] : (tool.underRules(rules) ?? [])));
