import type { Responder } from '../agents/types.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import {
  type Answered,
  answerStatePublication,
  createStepMessage,
  messagePublication,
  partPublication,
  sessionErrorPublication,
  statusPublication,
} from '../events/records.ts';
import { contextTokensOf, costOf } from '../model/cost.ts';
import { splitThinking } from '../model/think-tags.ts';
import { type ChatModel, ModelError, type ModelMessage } from '../model/types.ts';
import type { AssistantMessage, UserMessage } from '../protocol/types.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import type { MessageWithParts } from '../store/store.ts';
import { isExpectedEnd, toMessageError, withStoredUsage } from './errors.ts';
import { toModelHistory, truncateMessages } from './history.ts';
import { callModel, type ModelCallResult } from './model-call.ts';
import { createResponseParts, type ResponseParts } from './response-parts.ts';
import { createTurnMessages } from './turn-messages.ts';
import type { TurnContext } from './types.ts';

const INSTRUCTION =
  'Summarise this conversation for someone who continues it without having seen it: what is wanted, what was found out and done, with every id, amount, name and reference that still matters, what failed, and what comes next. Write nothing else.';

/** How long each text of a conversation may be in a request for a summary; if that is still too long, the second value is tried. */
const TEXT_LIMITS_CHARS = [8000, 800] as const;

type History = readonly MessageWithParts[];
/** A conversation, and the message whose answer needs space in the context. */
type Summarised = { readonly asked: Answered; readonly history: History };

/** Whether the last answer has left too little of the context window for another one. */
export const isContextFull = (messages: readonly MessageWithParts[], usableTokens: number | undefined): boolean => {
  if (usableTokens === undefined) return false;
  const last = messages.findLast(
    ({ info }) => info.role === 'assistant' && info.finish !== undefined && info.finish !== 'error',
  )?.info;
  return last?.role === 'assistant' && last.summary !== true && contextTokensOf(last.tokens) >= usableTokens;
};

/** The same agent with the model and the prompt of the summariser. */
const toSummarisingResponder = ({ agent, summariser }: Responder): Responder => ({
  agent: { ...agent, prompt: summariser.prompt ?? agent.prompt },
  model: summariser.model,
  summariser,
});

/** The turn's model already splits reasoning off if the answering model needs that; the summariser may be another model. */
const modelFor = (model: ChatModel, { model: answering, summariser }: Responder): ChatModel =>
  summariser.model.splitsThinking && !answering.splitsThinking
    ? (...request) => splitThinking(model(...request))
    : model;

/** Where the text of a summary goes, and what is called when the request for it is on its way. */
type SummaryOutput = { readonly parts: ResponseParts; readonly onSent: () => void };

/** Requests the text of a summary from the model, and once more with shorter texts if the conversation is too long. */
const requestText = async (
  needs: TurnContext,
  { asked: { session, user, responder }, history, parts, onSent }: Summarised & SummaryOutput,
  signal: AbortSignal,
): Promise<ModelCallResult> => {
  const messages = toModelHistory(history, user.id, []);
  const instruction: ModelMessage = { role: 'user', content: [{ kind: 'text', text: INSTRUCTION }] };
  const call = (limitChars: number): Promise<ModelCallResult> => {
    const request = {
      target: responder.model.target,
      system: responder.agent.prompt,
      messages: [...truncateMessages(messages, limitChars), instruction],
      tools: [],
      sessionID: session.id,
    };
    return callModel(needs, { request, parts, onSent }, signal);
  };
  const [longer, shorter] = TEXT_LIMITS_CHARS;
  return call(longer).catch(async (error: unknown) => {
    if (!(error instanceof ModelError) || error.kind !== 'overflow') throw error;
    await needs.publish(parts.end('The summary was restarted', true));
    return call(shorter);
  });
};

/** The closed message of a summary: `more` is published with it, and `error` says why there is no summary. */
type SummaryEnd = { readonly message: AssistantMessage; readonly more: Publication; readonly error?: unknown };
/** Decides what is published when the message of a summary is closed. */
type CloseSummary = (end: SummaryEnd) => Promise<Publication>;

type SummaryRequest = {
  readonly asked: Answered;
  readonly request: UserMessage;
  readonly close: CloseSummary;
  /** Holds the conversation while `work` runs. */
  readonly withHistory: (
    work: (history: History, onSent: () => void) => Promise<ModelCallResult>,
  ) => Promise<ModelCallResult>;
};

/** Answers a request for a summary. Rejects when the model fails; the message is closed in any case. */
const writeSummary = async (
  needs: TurnContext,
  { request, close, asked: answered, withHistory }: SummaryRequest,
  signal: AbortSignal,
): Promise<void> => {
  const { clock, ids, publish } = needs;
  const responder = toSummarisingResponder(answered.responder);
  const modelCall = { ...needs, model: modelFor(needs.model, answered.responder) };
  const asked = { ...answered, responder };
  const sessionID = asked.session.id;
  // Waiting prompts come after the request.
  const id = await createMessageIDs(needs)(sessionID);
  const opened = createStepMessage({ ...asked, user: request }, { id, now: clock.now() });
  const parts = createResponseParts({ ids, clock, sessionID, messageID: opened.id });
  await publish(messagePublication(opened));
  const completed = () => ({ ...opened.time, completed: clock.now() });
  /** Has a cost once the session has it too, also when the summary then turns out to be unusable. */
  let accounted = opened;
  try {
    const { finish, tokens, unpublished } = await withHistory((history, onSent) =>
      requestText(modelCall, { asked, history, parts, onSent }, signal),
    );
    const cost = costOf(tokens, responder.model.prices);
    const spent = { ...opened, cost, tokens };
    const stored: Publication = { changes: [{ kind: 'message', message: spent }] };
    await needs.addUsage({ tokens, cost }, (changed) => joinPublications(unpublished, changed, stored));
    accounted = spent;
    // An empty summary would replace the whole conversation by nothing.
    if (parts.text().trim() === '') throw new ModelError('cut-off', 'The summary was empty');
    await publish(parts.end('A summary makes no calls', false));
    const message = { ...spent, time: completed(), finish, summary: true };
    const more: Publication = { drafts: [{ type: 'session.compacted', properties: { sessionID } }] };
    await publish(await close({ message, more }));
  } catch (error) {
    // Without `summary: true` the message replaces nothing.
    const left = await withStoredUsage(needs, accounted, error);
    const message = { ...left, time: completed(), finish: 'error' as const };
    const end = await close({ message, more: {}, error });
    // The message must be closed even if its text cannot be stored.
    await publish(joinPublications(parts.end('The summary failed', true), end)).catch(() => publish(end));
    throw error;
  }
};

/**
 * Replaces the conversation so far by a summary. Rejects when the model fails; the conversation then stays as it was.
 */
export const summarise = async (
  needs: TurnContext,
  { asked, history }: Summarised,
  signal: AbortSignal,
): Promise<void> => {
  const { clock, ids, publish } = needs;
  const { session, user } = asked;
  const request: UserMessage = {
    id: ids('message', history.at(-1)?.info.id),
    sessionID: session.id,
    role: 'user',
    time: { created: clock.now() },
    agent: user.agent,
    model: user.model,
  };
  const location = { id: ids('part'), sessionID: session.id, messageID: request.id };
  await publish(messagePublication(request));
  await publish(partPublication({ ...location, type: 'compaction', auto: true }, clock.now()));
  const close: CloseSummary = async ({ message, more }) => joinPublications(messagePublication(message), more);
  await writeSummary(needs, { asked, request, close, withHistory: (work) => work(history, () => {}) }, signal);
};

/**
 * Answers a request for a summary: the turn is that one message. As with any turn, a failure becomes its error, and the
 * conversation then stays as it was.
 */
export const runSummary = async (
  needs: TurnContext,
  asked: Answered,
  signal: AbortSignal,
): Promise<AssistantMessage> => {
  const { publish, onBug } = needs;
  const { session, user: request } = asked;
  const sessionID = session.id;
  let closed: AssistantMessage | undefined;
  const close: CloseSummary = async ({ message, more, error: cause }) => {
    const error = cause === undefined ? undefined : toMessageError(cause, message.providerID);
    closed = error === undefined ? message : { ...message, error };
    const failed = error === undefined ? {} : sessionErrorPublication(sessionID, error);
    return joinPublications(messagePublication(closed), more, failed, await needs.atEnd(undefined));
  };
  const busy = statusPublication(sessionID, { type: 'busy' });
  await publish(joinPublications(busy, answerStatePublication(request, 'begun')));
  const messages = createTurnMessages(needs, { sessionID, promptID: request.id });
  try {
    const withHistory: SummaryRequest['withHistory'] = (work) => messages.use(signal, work);
    await writeSummary(needs, { asked, request, close, withHistory }, signal);
  } catch (error) {
    if (!isExpectedEnd(error)) onBug(error);
    if (closed === undefined) throw error;
  } finally {
    messages.end();
  }
  if (closed === undefined) throw new Error('A summary ended without its message');
  return closed;
};
