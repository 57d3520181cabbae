import * as v from 'valibot';
import { OneOfWords } from './schema-values.ts';

/** Longer patterns are mistakes, and cost time at every call. */
const PATTERN_LIMIT_CHARS = 1000;
const patternRule = `expected a pattern of 1 to ${PATTERN_LIMIT_CHARS} characters`;

const Pattern = v.pipe(v.string(), v.minLength(1, patternRule), v.maxLength(PATTERN_LIMIT_CHARS, patternRule));
const Action = OneOfWords(['allow', 'ask', 'deny']);
const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null;

const ByPattern = v.record(Pattern, Action);
const ByTool = v.record(
  Pattern,
  v.lazy((value) => (isTable(value) ? ByPattern : Action)),
);

/** One action for all tools, or an action by tool, or by tool and pattern. Their order counts. */
export const Permission = v.lazy((value) => (isTable(value) ? ByTool : Action));
