import { questionsOf } from './ask-words.ts';
import type { Ask } from './saying.ts';
import { createTurnLog, type TurnLog } from './turn-log.ts';

/** An answer that is ours and not the agent's. */
export const inOwnWords = (text: string): TurnLog => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  writer.finish({ kind: 'answered', finish: 'stop' });
  return writer.log;
};

const NO_SUCH_QUESTION =
  'There is no open question with this id in this conversation: it was answered already, its time is over, or it belongs elsewhere. Nothing was approved.';

/** After a rejection that the agent has nothing to say to: an empty answer looks like a failure. */
export const REJECTED = 'Rejected. The call was not made, and the agent has stopped.';

const followedBy = (text: string, asks: readonly Ask[]): string =>
  asks.length === 0 ? text : `${text}\n\n${questionsOf(asks)}`;

/** For somebody who answered a question that is none, with what was said since, and with the questions that there are. */
export const noSuchQuestion = (asks: readonly Ask[], since: readonly string[] = []): string =>
  followedBy([NO_SUCH_QUESTION, ...since].join('\n\n'), asks);

/** For somebody who answered, but not in the words that count. */
export const notCounted = (asks: readonly Ask[]): string =>
  followedBy('This was not counted as an answer, because it names no question by its id.', asks);
