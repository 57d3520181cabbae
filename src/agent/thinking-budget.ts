import { isRecord } from '../core/record.ts';

const hasResults = (message: unknown): boolean =>
  isRecord(message) &&
  Array.isArray(message.content) &&
  message.content.some((block: unknown) => isRecord(block) && block.type === 'tool_result');

/**
 * A request to Anthropic without a budget for thinking, where it would be refused: in the middle of a turn the backend
 * wants the thoughts that led to the calls back, and thoughts are never sent again.
 */
export const withoutLostThoughts = (body: string): string => {
  // Most requests have none, and taking a long one apart is not free.
  if (!body.includes('"budget_tokens"')) return body;
  const request: unknown = JSON.parse(body);
  if (!isRecord(request) || !isRecord(request.thinking) || !Array.isArray(request.messages)) return body;
  const { thinking, ...rest } = request;
  const { budget_tokens: budget } = request.thinking;
  if (typeof budget !== 'number' || typeof rest.max_tokens !== 'number' || !hasResults(request.messages.at(-1)))
    return body;
  // The adapter has put the budget on top of what the answer may take.
  return JSON.stringify({ ...rest, max_tokens: Math.max(1, rest.max_tokens - budget) });
};
