import type { Clock } from '../../core/clock.ts';
import { type Fact, joined } from '../events/publisher.ts';
import { type Answered, messageFact, openedMessage, partFact, statusFact } from '../events/records.ts';
import type { Meter } from '../metrics.ts';
import type { ChatModel } from '../model/types.ts';
import type { Ids } from '../protocol/ids.ts';
import type { Action, AssistantMessage, SessionStatus } from '../protocol/types.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { AgentTool, OutputLimits } from '../tools/tool.ts';
import type { StepEnd } from './model-call.ts';

import { createStep } from './step.ts';

export type TurnNeeds = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly chance: () => number;
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'messages' | 'outline'>;
  readonly outputLimits: OutputLimits;
  readonly meter: Pick<Meter, 'modelCall' | 'toolCall'>;
  readonly publish: (fact: Fact) => Promise<unknown>;
  readonly show: (status: SessionStatus) => Promise<unknown>;
  /** What is told with the end of the turn. */
  readonly atEnd: () => Promise<Fact>;
  /** Adds what a step has cost to the session; `within` as for any other change of a session. */
  readonly account: (
    step: Pick<StepEnd, 'tokens'> & { readonly cost: number },
    within: (changed: Fact) => Fact,
  ) => Promise<unknown>;
  /** Hears of a failure that nobody expects; whoever asked is told only that there was one. */
  readonly onBug: (error: unknown) => void;
};

/** What is to be answered, by whom, and with which tools. */
export type TurnAsked = Answered & {
  readonly tools: readonly AgentTool[];
  readonly ruling: (tool: string, patterns: readonly string[]) => Promise<Action>;
};

/**
 * Answers one user message: step after step, each a message of its own, until the model is done, a person says no, or a limit
 * is reached. Never rejects while the store works: whatever goes wrong ends as the error of the last message, which is returned.
 */
export const runTurn = async (needs: TurnNeeds, asked: TurnAsked, signal: AbortSignal): Promise<AssistantMessage> => {
  const { clock, ids, publish } = needs;
  const busy = statusFact(asked.session.id, { type: 'busy' });
  const step = createStep(needs, asked, signal);
  const nextID = createMessageIDs(needs);
  for (let count = 1; ; count++) {
    const message = openedMessage(asked, { id: await nextID(asked.session.id), now: clock.now() });
    const { id: messageID, sessionID } = message;
    const start = partFact({ id: ids('part'), sessionID, messageID, type: 'step-start' }, clock.now());
    await publish(joined(count === 1 ? busy : {}, messageFact(message), start));
    const ended = await step(message, count >= asked.voice.agent.steps);
    if (ended !== undefined) return ended;
  }
};
