import * as v from 'valibot';
import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import type { AgentModel } from '../agent/types.ts';
import { conversationInID } from '../ids.ts';
import type { ApprovalRequest } from '../output.ts';
import { type AnswerFormat, type BridgeRequest, isOneOff, type RequestTools, userTextIn } from '../request.ts';
import type { BeginRequest, ConversationPlace, SentMessage, TurnDecision, TurnTools } from '../turns/port.ts';

/** What makes a request known again. */
export type RequestIdentity = {
  /** The client's own key. */
  readonly key: string | undefined;
  readonly digest: string;
  /** Whether the client says that it has sent it before. */
  readonly isRetry: boolean;
};

/** What happens to a run that no client reads any more. */
export type DisconnectPolicy = { readonly kind: 'abort' | 'detach' } | { readonly kind: 'grace'; readonly ms: number };

/** Where a request belongs, and what comes before it. */
export type TurnPlace = Pick<BeginRequest, 'conversation' | 'history'>;

type TurnSettings = {
  readonly agentName: string | undefined;
  readonly abortAfterMs: number | null;
  /** Whether a conversation is found by its history. */
  readonly matching: 'prefix' | 'named';
};

const TITLE_CHARS = 60;
const READ_CHARS = 1000;
const UNTITLED = 'Conversation';

/** A title for a session: its first words, in one line. The agent calls a model for a title only where there is none. */
export const titleFor = (messages: readonly SentMessage[]): string => {
  const words = userTextIn(messages).slice(0, READ_CHARS);
  const line = words.replace(/\s+/g, ' ').replace(INVISIBLE_CHARACTERS, '').trim();
  const points = [...line];
  if (points.length <= TITLE_CHARS) return line === '' ? UNTITLED : line;
  const cut = points.slice(0, TITLE_CHARS - 1).join('');
  return `${cut.replace(/ +\S*$/, '')}…`;
};

const CONTINUE =
  'Your answer has been begun already, with the text below. Write what comes right after its last character. Do not repeat any of it, and do not mention this.';

/** Agents begin each answer anew, so the model is asked to continue. A value of a given form is always a whole one. */
const systemOf = ({ system, prefill, format }: BridgeRequest): string => {
  const begun = prefill === undefined || format !== undefined ? '' : `${CONTINUE}\n\n${prefill}`;
  return [system, begun].filter((text) => text !== '').join('\n\n');
};

/** How many more values the model may try after one that does not fit. */
const REPAIRS = 1;

const formatOf = (format: AnswerFormat | undefined): BeginRequest['format'] =>
  format && { type: 'json_schema', schema: format.schema, retryCount: REPAIRS };

const toolsOf = (given: RequestTools | undefined): TurnTools | undefined =>
  given && {
    ...given,
    tools: given.tools.map(({ name, description, inputSchema }) => ({
      ...{ name, inputSchema },
      ...(description === undefined ? {} : { description }),
    })),
  };

/** The place of a conversation that a client names. */
export const placeOfName = (
  name: string,
): ConversationPlace & ({ readonly id: string } | { readonly name: string }) => {
  const id = conversationInID(name);
  return id === undefined ? { name } : { id };
};

/** What is kept with a turn, for whoever reads it again. */
export type TurnMetadata = {
  readonly isBackground: boolean;
  /** Whether its answer has to be one JSON value. */
  readonly hasFormat: boolean;
  /** The names of its custom tools. */
  readonly custom: readonly string[];
  /** The permission requests with which the turn before it has ended, as a person saw them: it goes on after decisions. */
  readonly asked: readonly ApprovalRequest[];
};

/** A turn keeps little beside its messages. */
const ASKED_CHARS = 8000;

const asKept = (asked: readonly ApprovalRequest[]): readonly ApprovalRequest[] =>
  JSON.stringify(asked).length <= ASKED_CHARS ? asked : [];

const AskedRequest = v.object({
  id: v.string(),
  sessionID: v.string(),
  tool: v.string(),
  input: v.string(),
  isCut: v.exactOptional(v.boolean()),
  notes: v.array(v.string()),
  call: v.exactOptional(
    v.object({ id: v.string(), partID: v.exactOptional(v.string()), name: v.string(), input: v.string() }),
  ),
});
const Asked = v.fallback(v.array(AskedRequest), []);

const metadataOf = (
  { isBackground = false, format, clientTools }: BridgeRequest,
  asked: readonly ApprovalRequest[],
): TurnMetadata => ({
  isBackground,
  hasFormat: format !== undefined,
  custom: (clientTools?.tools ?? []).flatMap(({ name, isCustom }) => (isCustom ? [name] : [])),
  asked: asKept(asked),
});

/** The metadata that a bridge has given to a turn. */
export const readTurnMetadata = (metadata: Readonly<Record<string, unknown>>): TurnMetadata => ({
  isBackground: metadata.isBackground === true,
  hasFormat: metadata.hasFormat === true,
  custom: Array.isArray(metadata.custom) ? metadata.custom.filter((name) => typeof name === 'string') : [],
  asked: v.parse(Asked, metadata.asked ?? []),
});

type Given = {
  readonly request: BridgeRequest;
  readonly identity: RequestIdentity;
  /** A key of this request alone. */
  readonly ownKey: string;
  readonly model: AgentModel;
  readonly place: TurnPlace;
};

/** A request as it begins a turn. Decisions continue a turn that waits, and bring no messages. */
export const toTurnRequest = (
  { request, identity, ownKey, model, place }: Given,
  { agentName, abortAfterMs, matching }: TurnSettings,
  decisions: readonly TurnDecision[] = [],
  asked: readonly ApprovalRequest[] = [],
): BeginRequest => {
  const { conversation, effort } = request;
  const isNamed = conversation.kind === 'named';
  const isDecision = decisions.length > 0;
  return {
    ...place,
    isAppended: isNamed ? conversation.appends === true : conversation.kind !== 'unnamed',
    isCompared: isNamed && !conversation.isIncremental && conversation.appends !== true && !isDecision,
    isNew: conversation.kind === 'unnamed' && (isOneOff(request) || matching === 'named'),
    input: isDecision ? [] : request.input,
    decisions,
    ifWaiting: 'refuse',
    isJoinOnly: false,
    agent: agentName,
    model: { providerID: model.providerID, modelID: model.modelID },
    variant: effort !== undefined && model.variants.includes(effort) ? effort : undefined,
    title: titleFor([...request.history, ...request.input]),
    system: systemOf(request),
    format: formatOf(request.format),
    clientTools: toolsOf(request.clientTools),
    hasTools: !request.isBackgroundTask,
    key: identity.key ?? ownKey,
    isKeyOfClient: identity.key !== undefined,
    digest: identity.digest,
    isRetry: identity.isRetry,
    abortAfterMs: request.isBackground === true ? null : abortAfterMs,
    isStored: !isOneOff(request),
    metadata: metadataOf(request, asked),
    span: request.span,
  };
};
