import * as v from 'valibot';
import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import type { AgentModel } from '../agent/types.ts';
import { conversationInID } from '../ids.ts';
import type { ApprovalRequest } from '../output.ts';
import { type AnswerFormat, type BridgeRequest, isOneOff, type RequestTools, userTextIn } from '../request.ts';
import type {
  BeginRequest,
  ConversationPlace,
  SentMessage,
  TurnCaller,
  TurnSnapshot,
  TurnTools,
} from '../turns/port.ts';

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

export type AnswerSettings = {
  /** Which of the agent's agents answers. Undefined: the agent's default. */
  readonly agentName: string | undefined;
  /** Whether the user is asked for approval in the chat. Else all permission requests are rejected. */
  readonly asksInChat: boolean;
  readonly onDisconnect: DisconnectPolicy;
  /** Whether a conversation is found by its history. */
  readonly matching: 'prefix' | 'named';
};

export type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: string;
  readonly identity: RequestIdentity;
  /** Aborts when the client disconnects or the bridge stops. */
  readonly signal: AbortSignal;
};

/** Where a request belongs, and what comes before it. */
export type TurnPlace = Pick<BeginRequest, 'conversation' | 'history'>;

/** A request on its way to the agent. */
export type PreparedRequest = AnswerRequest & {
  readonly by: TurnCaller;
  readonly reading: AbortController;
  readonly model: AgentModel;
  readonly place: TurnPlace;
  /** The requests that its history shows. */
  readonly shown: readonly string[];
  /** The turn that is known to come before it. */
  readonly before: TurnSnapshot | undefined;
  /** A key of this request alone. */
  readonly ownKey: string;
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

/** Agents begin each answer from its start, so the model is asked to continue. A value of a given form is always a whole one. */
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
const TurnMetadata = v.object({
  isBackground: v.fallback(v.boolean(), false),
  /** Whether its answer has to be one JSON value. */
  hasFormat: v.fallback(v.boolean(), false),
  /** The names of its custom tools. */
  custom: v.fallback(v.array(v.string()), []),
  /** The permission requests with which the turn before it has ended, as a person saw them: it goes on after decisions. */
  asked: v.fallback(v.array(AskedRequest), []),
});
/** What is kept with a turn, for its later readers. */
type TurnMetadata = v.InferOutput<typeof TurnMetadata>;

/** The metadata that a bridge has given to a turn. */
export const readTurnMetadata = ({ metadata }: Pick<TurnSnapshot, 'metadata'>): TurnMetadata =>
  v.parse(TurnMetadata, metadata);

/** A turn keeps little beside its messages. */
const ASKED_CHARS = 8000;

const metadataOf = (
  { isBackground = false, format, clientTools }: BridgeRequest,
  asked: readonly ApprovalRequest[],
) => ({
  isBackground,
  hasFormat: format !== undefined,
  custom: (clientTools?.tools ?? []).flatMap(({ name, isCustom }) => (isCustom ? [name] : [])),
  asked: JSON.stringify(asked).length <= ASKED_CHARS ? asked : [],
});

const abortAfterMsOf = (policy: DisconnectPolicy): number | null => {
  if (policy.kind === 'grace') return policy.ms;
  return policy.kind === 'detach' ? null : 0;
};

/**
 * A request as it begins a turn, but for `more`. Decisions continue a turn that waits, and bring no messages. `asked`: with which that
 * turn has ended.
 */
export const toTurnRequest = (
  { request, identity, ownKey, model, place }: PreparedRequest,
  { agentName, onDisconnect, matching }: AnswerSettings,
  more: Partial<BeginRequest> = {},
  asked: readonly ApprovalRequest[] = [],
): BeginRequest => {
  const { conversation, effort } = request;
  const isNamed = conversation.kind === 'named';
  const isDecision = more.decisions !== undefined;
  return {
    ...place,
    isAppended: isNamed ? conversation.appends === true : conversation.kind !== 'unnamed',
    isCompared: isNamed && !conversation.isIncremental && conversation.appends !== true && !isDecision,
    isNew: conversation.kind === 'unnamed' && (isOneOff(request) || matching === 'named'),
    input: isDecision ? [] : request.input,
    decisions: [],
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
    abortAfterMs: request.isBackground === true ? null : abortAfterMsOf(onDisconnect),
    isStored: !isOneOff(request),
    metadata: metadataOf(request, asked),
    span: request.span,
    ...more,
  };
};
