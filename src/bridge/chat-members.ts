import type { AnswerEnd, Usage } from './turn/output.ts';

/** What every answer to one request says of itself. */
export type AnswerFacts = {
  readonly id: string;
  /** As the client asked for it. */
  readonly model: string;
  readonly createdSeconds: number;
};

/** What an exchange cost, as chat completions tell it. */
export const chatUsage = ({ prompt, cached, completion, reasoning }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

/** The member of ours that an answer has when it ends with questions; nothing otherwise. */
export const approvalsIn = ({ asks }: AnswerEnd) =>
  asks.length === 0 ? {} : { gatehouse: { approvals: asks.map(({ id, tool, input }) => ({ id, tool, input })) } };
