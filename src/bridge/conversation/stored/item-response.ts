import type { Fault } from '../../../core/fault.ts';
import { isNotFound } from '../../agent/errors.ts';
import { clientCallsIn } from '../../agent/given-calls.ts';
import type { AgentClient } from '../../agent/types.ts';
import { badInput } from '../../request.ts';
import type { ConversationIndex } from '../lookup.ts';
import { readItemID, responseIDFor } from '../response-id.ts';
import type { ConversationSync } from '../sync.ts';
import type { Conversations } from '../types.ts';
import { answersIn } from './continued.ts';

type ItemResponseNeeds = {
  readonly agent: Pick<AgentClient, 'messages'>;
  readonly index: Pick<ConversationIndex, 'bySession'>;
  readonly sync: Pick<ConversationSync, 'refresh'>;
};

const unknownItem = (): Fault =>
  badInput(
    'item_not_found',
    'input',
    "The answer with an item that 'input' names by its id is not known here any more: send the text of all earlier messages",
  );

/** Finds the response of an item that a client refers to by its id alone. */
export const createItemResponses =
  ({ agent, index, sync }: ItemResponseNeeds): Conversations['responseOfItem'] =>
  async (itemID, owner, signal) => {
    const location = readItemID(itemID);
    if (location === undefined) throw unknownItem();
    const { sessionID, partID } = location;
    await sync.refresh(sessionID, signal);
    const conversation = index.bySession(sessionID);
    if (conversation?.owner !== owner) throw unknownItem();
    const messages = await agent.messages(sessionID, signal).catch((error: unknown) => {
      if (isNotFound(error)) return [];
      throw error;
    });
    const position = messages.findIndex(({ parts }) => parts.some(({ id }) => id === partID));
    const found = messages[position]?.info;
    if (found?.role !== 'assistant') throw unknownItem();
    // Each answer of a turn but the last one ends with calls of the client.
    const answersBefore = messages
      .slice(0, position)
      .filter(
        ({ info, ...record }) =>
          info.role === 'assistant' &&
          info.parentID === found.parentID &&
          clientCallsIn({ info, ...record }).length > 0,
      ).length;
    const answers = answersIn(conversation.exchanges, found.parentID);
    const token = (answers[answersBefore] ?? answers.at(-1))?.token ?? '';
    if (token === '') throw unknownItem();
    return responseIDFor(sessionID, token);
  };
