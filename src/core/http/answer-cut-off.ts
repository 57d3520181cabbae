/**
 * The message of the error of an answer whose agent server stopped before its end, in the agent's API. By it a client tells such an
 * answer from one that a person has aborted: OpenCode's API has one name for both.
 */
export const ANSWER_CUT_OFF_TEXT = 'The agent server stopped before this answer was complete';
