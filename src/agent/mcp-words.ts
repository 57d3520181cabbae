import type { McpProblem } from './mcp/errors.ts';

const UNKNOWN = 'whether it was carried out is not known';
/** The protocol's codes for a call that no tool has seen. */
const NOT_TAKEN = new Set([-32600, -32601, -32602]);

/** What a model is told of a call that came to nothing. It must know whether something may have been changed. */
export const callWords = ({ kind, code, message }: McpProblem): string => {
  if (kind === 'ended') return `The tool server ended while the call was under way; ${UNKNOWN}.`;
  if (kind === 'timeout') return `The tool server gave no answer in time, and the call was cancelled; ${UNKNOWN}.`;
  if (code !== undefined && NOT_TAKEN.has(code))
    return `The tool server refused the call (error ${code}): it does not know the tool, or not with these arguments.`;
  if (kind === 'refused') return `The tool server failed the call (${message}); ${UNKNOWN}.`;
  return `The tool server gave an answer that cannot be read; ${UNKNOWN}.`;
};

/** What a model is told of a call that was never sent. */
export const UNSENT = {
  off: 'The tool server is switched off, so this call was not made.',
  away: 'The tool server is not connected at the moment, so this call was not made. Connecting goes on; try later, or go on without it.',
} as const;
