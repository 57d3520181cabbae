import type { AllKeysFailed, ChatAnswer } from '../../../src/llm/failover.ts';
import { type Answer, CANARY, ollamaAnswer, type Step } from '../scripted-client.ts';

/** Answers under HTTP 200 that hold no reply. */
export const UNUSABLE: readonly Answer[] = [
  { text: '' },
  { text: `<html>${CANARY}</html>` },
  { text: ollamaAnswer({ done_reason: 'length' }) },
  { text: ollamaAnswer({ model: 'other' }) },
];

/** The answer, where one of the keys gave one. */
export const answerOf = (result: ChatAnswer | AllKeysFailed): ChatAnswer => {
  if (result.kind !== 'answer') throw new Error(`Gave up: ${JSON.stringify(result)}`);
  return result;
};
/** What is known of the failure, where all keys failed. */
export const surrenderOf = (result: ChatAnswer | AllKeysFailed): AllKeysFailed => {
  if (result.kind !== 'all-keys-failed') throw new Error(`Answered: ${JSON.stringify(result)}`);
  return result;
};
/** Whether the answer is the one that the backend gives to a good call. */
export const verdictReply = (result: ChatAnswer | AllKeysFailed): boolean => {
  const { outcome } = answerOf(result);
  return outcome.kind === 'answered' && outcome.reply.kind === 'answered' && outcome.reply.content === 'the verdict';
};
/** A backend that takes this step each time. */
export const fails = (step: Step) => () => step;
