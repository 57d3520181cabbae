import { createTurnLog, type TurnLog } from './turn/log.ts';
import type { Ask } from './turn/output.ts';

/** An answer that is ours and not the agent's. With questions it ends as the agent's own would: with them. */
export const inOwnWords = (text: string, asks: readonly Ask[] = []): TurnLog => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  for (const ask of asks) writer.addAsk(ask);
  if (asks.length === 0) writer.finish({ kind: 'answered', finish: 'stop' });
  return writer.log;
};

const NO_SUCH_QUESTION =
  'There is no open question with this id in this conversation: it was answered already, its time is over, or it belongs elsewhere. Nothing was approved.';

/** After a rejection that the agent has nothing to say to: an empty answer looks like a failure. */
export const REJECTED = 'Rejected. The call was not made, and the agent has stopped.';

/** For somebody who answered a question that is none, with what was said since. */
export const noSuchQuestion = (since: readonly string[] = []): string => [NO_SUCH_QUESTION, ...since].join('\n\n');

/** For somebody who answered, but not in the words that count. */
export const NOT_COUNTED = 'This was not counted as an answer, because it names no question by its id.';
