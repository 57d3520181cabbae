import type { Message } from './message.ts';

/** Whether an answer was begun and not completed. */
export const isUnfinished = (message: Message): boolean =>
  message.role === 'assistant' && message.time.completed === undefined;
