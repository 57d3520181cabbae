import { ModelError, type ModelRequest, type ToolSpec } from '../model/types.ts';
import type { MessageWithParts } from '../store/store.ts';
import type { createCallRunner } from '../tools/call.ts';
import { isContextFull, summarise } from './compaction.ts';
import { toModelHistory } from './history.ts';
import { callModel, type ModelCallResult } from './model-call.ts';
import type { ResponseParts } from './response-parts.ts';
import type { TurnMessages } from './turn-messages.ts';
import type { TurnContext, TurnRequest } from './types.ts';

const LAST_STEP = 'This is the last step of this turn, and no tools are left. Answer with what is known.';
const LAST_CALL = 'This is the last step of this turn. Answer with what is known.';

/** A turn, and what all of its steps share. */
export type TurnSteps = TurnContext &
  TurnRequest & {
    readonly messages: TurnMessages;
    readonly signal: AbortSignal;
    readonly calls: ReturnType<typeof createCallRunner>;
    /** What the model has said so far. */
    readonly texts: string[];
    /** A summary was tried, and its model has failed. */
    hasSummaryFailed: boolean;
  };

/** Whether a tool is the one whose arguments are the value that was asked for. */
export const isOutputTool = ({ output }: TurnSteps, name: string): boolean =>
  output?.tools.some((tool) => tool.name === name) === true;

/** Where a value or a call of the client's is asked for, each step has to end in a call, the last one in that very one. */
const toolsFor = (steps: TurnSteps, isLast: boolean): Pick<ModelRequest, 'tools' | 'toolChoice'> => {
  const { clientTools, output } = steps;
  const own = steps.tools.map(({ name, description, inputSchema }): ToolSpec => ({ name, description, inputSchema }));
  if (clientTools.isForced) {
    const others = own.filter(({ name }) => !isOutputTool(steps, name));
    return { tools: isLast ? clientTools.specs : [...others, ...clientTools.specs], toolChoice: clientTools.forced };
  }
  const tools = [...own, ...clientTools.specs];
  if ((output?.tools ?? []).length === 0) return { tools, ...(isLast ? { toolChoice: 'none' } : {}) };
  return { tools: isLast ? tools.filter(({ name }) => isOutputTool(steps, name)) : tools, toolChoice: 'required' };
};

const systemFor = ({ responder, output, user, clientTools }: TurnSteps, isLast: boolean): string => {
  // The last step ends with a call too: of the value, or of a client tool.
  const isCallWanted = output !== undefined || clientTools.isForced;
  const last = isLast ? (isCallWanted ? LAST_CALL : LAST_STEP) : '';
  // The instruction is not a part of the agent's prompt, which a summary may be asked for with.
  return [responder.agent.prompt, output?.instruction ?? '', user.system ?? '', last]
    .filter((text) => text !== '')
    .join('\n\n');
};

const compact = async (
  steps: TurnSteps,
  history: readonly MessageWithParts[],
): Promise<readonly MessageWithParts[]> => {
  await summarise(steps, { asked: steps, history }, steps.signal);
  return steps.messages.read();
};

/** If a summary fails before the context is really exceeded, the turn goes on without one. */
const compactIfFull = async (
  steps: TurnSteps,
  messages: readonly MessageWithParts[],
): Promise<readonly MessageWithParts[]> => {
  if (steps.hasSummaryFailed || !isContextFull(messages, steps.responder.model.usableTokens)) return messages;
  return compact(steps, messages).catch((error: unknown) => {
    if (!(error instanceof ModelError)) throw error;
    steps.hasSummaryFailed = true;
    return messages;
  });
};

/** Where the output of a model goes, what is called when the request for it is on its way, and whether it is the last of the turn. */
type StepOutput = { readonly parts: ResponseParts; readonly onSent: () => void; readonly isLast: boolean };

/** Calls the model for a step, after a summary where the context is full or turns out to be too small. */
export const requestOutput = async (
  steps: TurnSteps,
  before: readonly MessageWithParts[],
  { parts, onSent, isLast }: StepOutput,
): Promise<ModelCallResult> => {
  const { responder, user, session, signal } = steps;
  const reminder = steps.output?.reminder() ?? [];
  const ask = (messages: readonly MessageWithParts[]): Promise<ModelCallResult> => {
    const request: ModelRequest = {
      target: responder.model.target,
      system: systemFor(steps, isLast),
      messages: [...toModelHistory(messages, user.id, responder.model.media), ...reminder],
      ...toolsFor(steps, isLast),
      sessionID: session.id,
    };
    return callModel(steps, { request, parts, onSent }, signal);
  };
  const messages = await compactIfFull(steps, before);
  try {
    return await ask(messages);
  } catch (error) {
    const isTooLong = error instanceof ModelError && error.kind === 'overflow';
    if (!isTooLong || messages !== before) throw error;
    await steps.publish(parts.end('The step was restarted', true));
    return ask(await compact(steps, before));
  }
};
