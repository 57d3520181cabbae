import { isRecord, parseJsonValue } from '../../core/json.ts';
import { redactedLine } from '../../core/text.ts';
import type { CallOutcome } from '../protocol.ts';

const TEXT_CHARS = 500;

const textOf = (value: unknown): { readonly text?: string } =>
  typeof value === 'string' && value !== '' ? { text: redactedLine(value, TEXT_CHARS) } : {};

/** A recharge says itself whether it is proven: a call without an error may be one that could not be confirmed. */
const ofResult = (output: unknown): CallOutcome => {
  const result = typeof output === 'string' ? parseJsonValue(output) : undefined;
  if (!isRecord(result)) return { state: 'done' };
  if (result.outcome === 'accepted_unverified') return { state: 'in-doubt', ...textOf(result.advice) };
  const { balance_before, balance_after } = result;
  const isCredited =
    result.outcome === 'verified' && [balance_before, balance_after].every((one) => typeof one === 'string');
  return isCredited
    ? { state: 'done', ...textOf(`credited, balance ${balance_before} → ${balance_after}`) }
    : { state: 'done' };
};

/** What became of a call, from the message of its session that holds it. */
export const callOutcomeIn = (message: unknown, callID: string): CallOutcome => {
  const parts: readonly unknown[] = isRecord(message) && Array.isArray(message.parts) ? message.parts : [];
  const part = parts.find((one) => isRecord(one) && one.type === 'tool' && one.callID === callID);
  const state = isRecord(part) && isRecord(part.state) ? part.state : {};
  switch (state.status) {
    case 'pending':
    case 'running':
      return { state: 'pending' };
    case 'completed':
      return ofResult(state.output);
    case 'error':
      return { state: 'failed', ...textOf(state.error) };
    default:
      return { state: 'unknown' };
  }
};
