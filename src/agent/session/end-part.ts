import { UNANSWERED } from '../protocol/call-metadata.ts';
import type { Part, ToolState } from '../protocol/types.ts';
import { CALL_NOT_AWAITED } from './awaited-calls.ts';

const CALL_NOT_MADE = 'The server was stopped before this call was made, so it was not made';
const CALL_OUTCOME_UNKNOWN =
  'The server was stopped while this call was under way; whether it was carried out is not known';

/** A call gets the status `running` before it is made. Until then it waits, for its arguments or for a person. */
const endCall = (state: ToolState, now: number): ToolState | undefined => {
  const { status, input } = state;
  if (status === 'pending') return { status: 'error', input, error: CALL_NOT_MADE, time: { start: now, end: now } };
  if (status !== 'running') return undefined;
  if (state.metadata?.clientTool === true)
    return {
      status: 'error',
      input,
      error: CALL_NOT_AWAITED.copied,
      metadata: UNANSWERED,
      time: { start: state.time.start, end: now },
    };
  return { status: 'error', input, error: CALL_OUTCOME_UNKNOWN, time: { start: state.time.start, end: now } };
};

/** A part that was incomplete when the process ended, as it is stored from now on; undefined for a complete one. */
export const endPart = (part: Part, now: number): Part | undefined => {
  if (part.type === 'tool') {
    const state = endCall(part.state, now);
    return state === undefined ? undefined : { ...part, state };
  }
  if ((part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined) {
    return { ...part, time: { start: part.time.start, end: now } };
  }
  return undefined;
};
