import type { Voice } from '../agents/types.ts';
import { type AskNeeds, askModel, type StepEnd } from '../ask-model.ts';
import { type Fact, joined } from '../events/publisher.ts';
import { type Answered, messageFact, openedMessage } from '../events/records.ts';
import type { AssistantMessage, UserMessage } from '../message.ts';
import { contextTokensOf, costOf } from '../model/cost.ts';
import { splitThinking } from '../model/think-tags.ts';
import { type ChatMessage, type ChatModel, ModelProblem } from '../model/types.ts';
import { partFact } from '../part-facts.ts';
import type { Ids } from '../protocol/ids.ts';
import { shortened } from '../short-history.ts';
import type { Told } from '../store/store.ts';
import { historyOf } from './history.ts';
import { createStepParts, type StepParts } from './response-parts.ts';
import type { TurnNeeds } from './turn.ts';

const INSTRUCTION =
  'Summarise this conversation for whoever carries it on without having seen it: what is wanted, what was found out and done, with every id, amount, name and reference that still matters, what failed, and what comes next. Write nothing else.';

/** How long a text of the conversation may be when it is summed up; a conversation that is still too long is tried once more. */
const TEXT_LIMITS_CHARS = [8000, 800] as const;

export type SummariseNeeds = AskNeeds &
  Pick<TurnNeeds, 'account'> & { readonly ids: Ids; readonly said: readonly Told[] };

/** Whether the last answer has left too little of the context for another one. */
export const isContextFull = (messages: readonly Told[], usableTokens: number | undefined): boolean => {
  if (usableTokens === undefined) return false;
  const last = messages.findLast(
    ({ info }) => info.role === 'assistant' && info.finish !== undefined && info.finish !== 'error',
  )?.info;
  return last?.role === 'assistant' && last.summary !== true && contextTokensOf(last.tokens) >= usableTokens;
};

/** The agent at work with the model and the words of whoever sums up. */
const summarisingVoice = ({ agent, summariser }: Voice): Voice => ({
  agent: { ...agent, prompt: summariser.prompt ?? agent.prompt },
  model: summariser.model,
  summariser,
});

/** The model that is there splits thoughts off where the one at work does; this one may be another. */
const modelOf = (model: ChatModel, { agent: _, model: atWork, summariser }: Voice): ChatModel =>
  summariser.model.splitsThinking && !atWork.splitsThinking ? (...asked) => splitThinking(model(...asked)) : model;

const askFor = async (
  needs: SummariseNeeds,
  { asked: { session, user, voice }, parts }: { readonly asked: Answered; readonly parts: StepParts },
  signal: AbortSignal,
): Promise<StepEnd> => {
  const history = historyOf(needs.said, user.id);
  const instruction: ChatMessage = { role: 'user', content: [{ kind: 'text', text: INSTRUCTION }] };
  const ask = (limitChars: number): Promise<StepEnd> => {
    const messages = [...shortened(history, limitChars), instruction];
    const { target } = voice.model;
    const request = { target, system: voice.agent.prompt, messages, tools: [], sessionID: session.id };
    return askModel(needs, { request, parts }, signal);
  };
  const [longer, shorter] = TEXT_LIMITS_CHARS;
  return ask(longer).catch(async (error: unknown) => {
    if (!(error instanceof ModelProblem) || error.kind !== 'overflow') throw error;
    await needs.publish(parts.end('The summary was begun anew', true));
    return ask(shorter);
  });
};

/** How the message that holds a summary is closed: `more` is told with it, and `error` says why there is none. */
export type SummaryEnd = { readonly message: AssistantMessage; readonly more: Fact; readonly error?: unknown };
export type CloseSummary = (end: SummaryEnd) => Promise<Fact>;

/** Answers a request for a summary with one. Rejects when no model can be had for it; the message is closed all the same. */
export const writeSummary = async (
  needs: SummariseNeeds,
  {
    request,
    close,
    ...given
  }: { readonly asked: Answered; readonly request: UserMessage; readonly close: CloseSummary },
  signal: AbortSignal,
): Promise<void> => {
  const { clock, ids, publish } = needs;
  const voice = summarisingVoice(given.asked.voice);
  const model = modelOf(needs.model, given.asked.voice);
  const asked = { ...given.asked, voice };
  const sessionID = asked.session.id;
  // Prompts that wait stand behind the request.
  const [last] = [request.id, ...needs.said.map(({ info }) => info.id)].toSorted().toReversed();
  const id = ids('message', last);
  const opened = openedMessage({ ...asked, user: request }, { id, now: clock.now() });
  const parts = createStepParts({ ids, clock, sessionID, messageID: opened.id });
  await publish(messageFact(opened));
  const completed = () => ({ ...opened.time, completed: clock.now() });
  try {
    const { finish, tokens, untold } = await askFor({ ...needs, model }, { asked, parts }, signal);
    const cost = costOf(tokens, voice.model.prices);
    await needs.account({ tokens, cost }, (changed) => joined(untold, changed));
    // An empty one would put nothing in the place of everything.
    if (parts.text().trim() === '') throw new ModelProblem('cut-off', 'The summary was empty');
    await publish(parts.end('A summary makes no calls', false));
    const message = { ...opened, time: completed(), cost, tokens, finish, summary: true };
    const more: Fact = { drafts: [{ type: 'session.compacted', properties: { sessionID } }] };
    await publish(await close({ message, more }));
  } catch (error) {
    // Without the mark of a summary it stands for nothing.
    const message = { ...opened, time: completed(), finish: 'error' as const };
    const end = await close({ message, more: {}, error });
    // The message must not stay open because what was said in it cannot be kept.
    await publish(joined(parts.end('The summary failed', true), end)).catch(() => publish(end));
    throw error;
  }
};

/**
 * Puts a summary in the place of everything that was said so far. Rejects when no model can be had for it; what was said stays
 * then as it was.
 */
export const summarise = async (needs: SummariseNeeds, asked: Answered, signal: AbortSignal): Promise<void> => {
  const { clock, ids, publish } = needs;
  const { session, user } = asked;
  const request: UserMessage = {
    id: ids('message', needs.said.at(-1)?.info.id),
    sessionID: session.id,
    role: 'user',
    time: { created: clock.now() },
    agent: user.agent,
    model: user.model,
  };
  const placed = { id: ids('part'), sessionID: session.id, messageID: request.id };
  await publish(messageFact(request));
  await publish(partFact({ ...placed, type: 'compaction', auto: true }, clock.now()));
  const close: CloseSummary = async ({ message, more }) => joined(messageFact(message), more);
  await writeSummary(needs, { asked, request, close }, signal);
};
