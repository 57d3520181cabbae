import { joinPublications } from '../events/publisher.ts';
import {
  answerStatePublication,
  createStepMessage,
  messagePublication,
  partPublication,
  statusPublication,
} from '../events/records.ts';
import type { AssistantMessage } from '../protocol/types.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import { createStep } from './step.ts';
import { createTurnMessages } from './turn-messages.ts';
import type { TurnContext, TurnRequest } from './types.ts';

/** How many heads are read at a time. */
const PAGE = 64;

/** How many steps the answer to a prompt has already: some where it goes on with the results of client tools. */
const countEarlierSteps = async (
  store: Pick<TurnContext['store'], 'messageHeads'>,
  { id, sessionID, time }: TurnRequest['user'],
): Promise<number> => {
  if (time.resumed === undefined) return 0;
  let count = 0;
  for (let beforeID: string | undefined; ; ) {
    const page = await store.messageHeads(sessionID, { limit: PAGE, ...(beforeID === undefined ? {} : { beforeID }) });
    count += page.filter(({ info }) => info.role === 'assistant' && info.parentID === id).length;
    beforeID = page[0]?.info.id;
    if (page.length < PAGE || page.some(({ info }) => info.id === id)) return count;
  }
};

/**
 * Answers one user message: step after step, each a message of its own, until the model is done, a person rejects a call, or
 * a limit is reached, or until calls of client tools wait for their results: with these it is called again. Never rejects while the store works: a failure becomes the error of the last message, which is returned.
 */
export const runTurn = async (
  needs: TurnContext,
  asked: TurnRequest,
  signal: AbortSignal,
): Promise<AssistantMessage> => {
  const { clock, ids, store, publish } = needs;
  const busy = statusPublication(asked.session.id, { type: 'busy' });
  const begun = joinPublications(busy, answerStatePublication(asked.user, 'begun'));
  const messages = createTurnMessages(needs, { sessionID: asked.session.id, promptID: asked.user.id });
  const step = createStep({ ...needs, messages }, asked, signal);
  const nextID = createMessageIDs(needs);
  try {
    const earlier = await countEarlierSteps(store, asked.user);
    for (let count = 1; ; count++) {
      const isFirst = count === 1 && needs.isUntouched;
      const id = isFirst ? ids('message', asked.user.id) : await nextID(asked.session.id);
      const message = createStepMessage(asked, { id, now: clock.now() });
      const { id: messageID, sessionID } = message;
      const start = partPublication({ id: ids('part'), sessionID, messageID, type: 'step-start' }, clock.now());
      await publish(joinPublications(count === 1 ? begun : {}, messagePublication(message), start));
      const ended = await step({ message, isLast: earlier + count >= asked.responder.agent.steps });
      if (ended !== undefined) return ended;
    }
  } finally {
    messages.end();
  }
};
