import type { Publication } from '../../events/publisher.ts';
import type { GivenMessage } from '../../protocol/given-messages.ts';
import type { UserMessage } from '../../protocol/types.ts';
import type { AgentRuntime } from '../../runtime.ts';
import type { EndedAnswer } from '../../turn/types.ts';
import { callArguments } from '../output/log.ts';
import { extendChain } from './digests.ts';

/** The answer as a client has it, and sends it back. */
const toGiven = ({ texts, structured, calls }: EndedAnswer): GivenMessage => ({
  role: 'assistant',
  text: structured === undefined ? texts.filter((text) => text !== '').join('\n\n') : JSON.stringify(structured.value),
  calls: calls.map((part) => ({ id: part.callID, name: part.tool, arguments: callArguments(part) })),
});

/**
 * Makes what is stored with the end of an answer: that the conversation, with it, ended here. It is found by its history from then
 * on. Nothing for prompts that are of no turn.
 */
export const answerEnd = async (
  { store, digest, runInSlices }: AgentRuntime,
  { sessionID, id: promptID }: UserMessage,
  answer: EndedAnswer,
): Promise<Publication> => {
  const turn = (await store.turns.ofPrompt(sessionID, promptID)).at(-1);
  if (turn?.chain === undefined) return {};
  const steps = extendChain(turn.chain, [toGiven(answer)], digest);
  const end = {
    digest: await runInSlices(steps, new AbortController().signal),
    sessionID,
    turnID: turn.id,
    promptID,
  };
  return { changes: [{ kind: 'chain', owner: turn.owner, end }] };
};
