import type * as v from 'valibot';
import { Fault } from '../../../core/fault.ts';
import type { HttpResponse } from '../../../core/http/client.ts';
import { parseJson } from '../../../core/json.ts';
import type { Runtime } from '../../../core/runtime.ts';
import type { ApiCall, CallAgent } from '../../agent/calls.ts';
import type { AgentTransport, createAgentUrls } from '../../agent/servers.ts';
import { type BridgeFault, refused } from '../../errors.ts';
import type { BeginRequest, SentFile, SentMessage, TurnCaller, TurnSnapshot } from '../port.ts';
import { RefusalRecord, TurnViewRecord } from '../records.ts';
import type { TracedPost } from './traced-post.ts';

/** What the calls of our agent server's turns have in common. */
export type AgentTurns = ReturnType<typeof createAgentUrls> &
  Pick<Runtime, 'clock' | 'runInSlices'> & {
    readonly transport: AgentTransport;
    readonly callAgent: CallAgent;
    /** 0 to 1; shortens the wait before an attempt is repeated. */
    readonly chance: () => number;
    readonly traced: TracedPost;
  };

const OWNER_HEADER = 'x-gatehouse-owner';
export const TURNS = '/gatehouse/turns';
export const CONVERSATIONS = '/gatehouse/conversations';

/** The headers of every request of an owner. */
export const ownerHeaders = ({ headers }: AgentTurns, owner: string) => ({ ...headers, [OWNER_HEADER]: owner });

/** An id as a segment of a path. One that cannot be the agent's is refused: it could lead to another path. */
export const segment = (id: string, code: 'turn_not_found' | 'conversation_not_found'): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  throw refused(code);
};
/** The path of a turn. */
export const turnPath = (id: string): string => `${TURNS}/${segment(id, 'turn_not_found')}`;

/** The fault of a refusal by a code of the turns; undefined for any other answer. */
export const refusalOf = ({ text }: Pick<HttpResponse, 'text'>): Fault<BridgeFault> | undefined => {
  const refusal = parseJson(RefusalRecord, text);
  return refusal && new Fault({ kind: 'turn-refused', ...refusal.data });
};

/** Calls the agent as an owner. Faults with `turn-refused`, too. */
export const callFor = <Schema extends v.GenericSchema>(
  { callAgent }: AgentTurns,
  call: ApiCall<Schema>,
  { owner, signal }: TurnCaller,
): Promise<v.InferOutput<Schema>> => callAgent({ ...call, headers: { [OWNER_HEADER]: owner }, refusalOf }, signal);

/** A turn as it is now. */
export const viewTurn = (turns: AgentTurns, turnID: string, by: TurnCaller): Promise<TurnSnapshot> =>
  callFor(turns, { method: 'GET', path: turnPath(turnID), schema: TurnViewRecord }, by);

const fileBody = ({ mime, url, filename }: SentFile): SentFile =>
  filename === undefined ? { type: 'file', mime, url } : { type: 'file', mime, url, filename };

/** Messages in the agent's words: no member of a file that it does not know. */
export const messageBodies = (messages: readonly SentMessage[]): readonly SentMessage[] =>
  messages.map((message) => {
    if (message.role === 'user')
      return { ...message, parts: message.parts.map((part) => (part.type === 'file' ? fileBody(part) : part)) };
    if (message.role === 'tool' && message.files !== undefined)
      return { ...message, files: message.files.map(fileBody) };
    return message;
  });

/** Who decides, as the agent keeps it: a client of a bridge has no name that the bridge could vouch for. */
export const DECIDER = 'a client of the bridge';

/** A key that the client has not chosen has this prefix: it does not keep the rules for requests without a key from their work. */
const OWN_KEY = 'once:';

/** The body of `POST /gatehouse/turns`. Members that are undefined are left out. */
export const beginBody = (request: BeginRequest) => {
  const { span: _span, isJoinOnly, clientTools, hasTools, isKeyOfClient, ...same } = request;
  // With results, what is left out would stay as the request before them had it.
  const goesOn = request.input.some(({ role }) => role === 'tool');
  const { tools = [], choice, isParallel } = clientTools ?? {};
  return {
    ...same,
    history: messageBodies(request.history),
    input: messageBodies(request.input),
    joinOnly: isJoinOnly,
    by: request.decisions.length === 0 ? undefined : DECIDER,
    system: request.system === '' ? undefined : request.system,
    format: request.format ?? (goesOn ? { type: 'text' } : undefined),
    clientTools: clientTools === undefined && !goesOn ? undefined : { tools, choice, parallel: isParallel },
    tools: hasTools ? undefined : { '*': false },
    key: isKeyOfClient ? request.key : `${OWN_KEY}${request.key}`,
    stream: true,
  };
};
