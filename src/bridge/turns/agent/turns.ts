import * as v from 'valibot';
import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import { HttpClientError, type HttpResponse, isNeverConnected } from '../../../core/http/client.ts';
import { parseJson, parseJsonValue, writeJson } from '../../../core/json.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import type { ApiCall, CallAgent } from '../../agent/calls.ts';
import {
  agentInterrupted,
  toConnectionFault,
  toRefusalFault,
  toUnusableAnswerFault,
  withRetries,
} from '../../agent/errors.ts';
import { MessageRecord } from '../../agent/schema.ts';
import { type AgentTransport, createAgentUrls, type QueryParameters } from '../../agent/servers.ts';
import type { BridgeFault } from '../../errors.ts';
import type { BeginRequest, BegunTurn, TurnCaller, TurnEvent, TurnSnapshot, TurnsPort } from '../port.ts';
import { beginBody, DECIDER, messageBody } from './body.ts';
import { type OpenAnswer, openAnswer } from './event-reader.ts';
import {
  AddedRecord,
  BegunRecord,
  ConversationRecord,
  MessagePageRecord,
  OutputRecord,
  RefusalRecord,
  readEntries,
  TurnViewRecord,
} from './schema.ts';
import { createTracedPost } from './traced-post.ts';

type AgentTurnsNeeds = {
  readonly transport: AgentTransport;
  readonly callAgent: CallAgent;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before an attempt is repeated. */
  readonly chance: () => number;
  readonly runInSlices: RunInSlices;
};

const OWNER_HEADER = 'x-gatehouse-owner';
const PREFIX = '/gatehouse';
const Done = v.unknown();
const LONG_EVENT_CHARS = 1024 * 1024;

/** An id as a segment of a path. One that cannot be the agent's is refused: it could lead to another path. */
const segment = (id: string, code: 'turn_not_found' | 'conversation_not_found'): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  const refused: BridgeFault = { kind: 'turn-refused', code, ids: [] };
  throw new Fault(refused);
};
const turnPath = (id: string): string => `${PREFIX}/turns/${segment(id, 'turn_not_found')}`;
const conversationPath = (id: string): string => `${PREFIX}/conversations/${segment(id, 'conversation_not_found')}`;

/** The fault of a refusal by a code of the turns; undefined for any other answer. */
const refusalOf = ({ text }: HttpResponse): Fault<BridgeFault> | undefined => {
  const refusal = parseJson(RefusalRecord, text);
  return refusal && new Fault({ kind: 'turn-refused', ...refusal.data });
};

const hasCallOf = ({ parts }: MessageRecord, callIDs: readonly string[]): boolean =>
  parts.some((part) => part.type === 'tool' && callIDs.includes(part.callID));

/** The turns of our agent server, over HTTP. Every request may be sent twice: those that begin a turn have a key. */
export const createAgentTurns = (needs: AgentTurnsNeeds): TurnsPort => {
  const { transport, callAgent, clock, chance, runInSlices } = needs;
  const { headers, urlOf } = createAgentUrls(transport);
  const traced = createTracedPost(transport.baseUrl);
  const headersFor = (owner: string) => ({ ...headers, [OWNER_HEADER]: owner });
  const jsonHeaders = { 'content-type': 'application/json' };
  const asFault = (error: unknown, signal: AbortSignal, isPrompt: boolean): unknown => {
    if (signal.aborted) return signal.reason instanceof Fault ? signal.reason : new Fault({ kind: 'client-left' });
    return toConnectionFault(error, { isPrompt });
  };
  const call = <Schema extends v.GenericSchema>(
    given: ApiCall<Schema>,
    { owner, signal }: TurnCaller,
  ): Promise<v.InferOutput<Schema>> => callAgent({ ...given, headers: { [OWNER_HEADER]: owner }, refusalOf }, signal);

  const faultOf = async ({ status, header, text }: OpenAnswer, isPrompt: boolean): Promise<Fault<BridgeFault>> => {
    // Of several servers that turned the request away, the answer of the last one is not read.
    const answer = { status, header, text: await text().catch(() => '') };
    return refusalOf(answer) ?? toRefusalFault(answer, clock.now(), { isPrompt });
  };

  const view: TurnsPort['view'] = (turnID, by) =>
    call({ method: 'GET', path: turnPath(turnID), schema: TurnViewRecord }, by);
  /** Opens the stream of a turn after a position. */
  const openOutput = async (
    turnID: string,
    { reader, after }: { readonly reader: string | undefined; readonly after: number },
    { owner, signal }: TurnCaller,
  ): Promise<OpenAnswer> => {
    const query = { stream: 'true', after: String(after), ...(reader === undefined ? {} : { reader }) };
    const url = urlOf(`${turnPath(turnID)}/output`, query);
    try {
      const answer = await openAnswer(
        transport.stream,
        { url, headers: { ...headersFor(owner), accept: 'text/event-stream' } },
        { clock, signal },
      );
      if (answer.status === 200 && answer.isEventStream) return answer;
      throw await faultOf(answer, false);
    } catch (error) {
      throw error instanceof Fault ? error : asFault(error, signal, false);
    }
  };
  /** The events of a turn, over one connection after the other. Entries that came before are left out. */
  async function* follow(
    turnID: string,
    { reader, after, opened }: { readonly reader?: string; readonly after: number; readonly opened?: OpenAnswer },
    by: TurnCaller,
  ): AsyncGenerator<TurnEvent, void, undefined> {
    let position = after;
    let answer = opened;
    const reopen = () => openOutput(turnID, { reader, after: position }, by);
    for (;;) {
      answer ??= await withRetries(reopen, { clock, chance, signal: by.signal }).catch((error: unknown) => {
        throw by.signal.aborted ? error : agentInterrupted();
      });
      try {
        for await (const { name, data } of answer.events) {
          // To take it from the connection has been work for a step of its own, and so is the reading of its JSON.
          if (data.length > LONG_EVENT_CHARS) await pause(clock, 0, by.signal);
          if (name === 'entries') {
            const known = position;
            const entries = readEntries(parseJsonValue(data)).filter((entry) => entry.position > known);
            position = entries.at(-1)?.position ?? position;
            if (entries.length > 0) yield { kind: 'entries', entries };
          } else if (name === 'turn' || name === 'end') {
            const turn = parseJson(TurnViewRecord, data);
            if (turn !== undefined) yield { kind: name, turn };
            if (name === 'end') return;
          } else if (name === 'stopping') break;
        }
      } catch (error) {
        if (by.signal.aborted) throw by.signal.reason;
        if (!(error instanceof HttpClientError)) throw error;
      } finally {
        answer.close();
      }
      answer = undefined;
    }
  }

  const begunOf = (text: string) => parseJson(BegunRecord, text);
  const open = async (body: string, trace: object, { owner, signal }: TurnCaller): Promise<OpenAnswer> => {
    const sent = { ...headersFor(owner), ...jsonHeaders, ...trace, accept: 'text/event-stream, application/json' };
    return openAnswer(transport.stream, { url: urlOf(`${PREFIX}/turns`), headers: sent, body }, { clock, signal });
  };
  /** A refusal that is an outcome: a turn waits, or there is none to join. */
  const refused = async (fault: Fault<BridgeFault>, by: TurnCaller): Promise<BegunTurn> => {
    const { detail } = fault;
    const [turnID] = detail.kind === 'turn-refused' && detail.code === 'turn_waiting' ? detail.ids : [];
    if (turnID !== undefined) return { outcome: 'waiting', turn: await view(turnID, by) };
    throw fault;
  };
  const beginOnce = async (body: string, trace: object, by: TurnCaller): Promise<BegunTurn> => {
    const answer = await open(body, trace, by);
    if (answer.status !== 200) return refused(await faultOf(answer, true), by);
    const first = answer.isEventStream ? await answer.events.next() : undefined;
    if (first?.done === true) throw new HttpClientError('CONNECTION_FAILED');
    const text = first === undefined ? await answer.text() : first.value.data;
    const begun = begunOf(text);
    if (begun === undefined) {
      answer.close();
      throw toUnusableAnswerFault(text, { isPrompt: true });
    }
    if (begun.outcome === 'waiting' || begun.outcome === 'none') {
      answer.close();
      return begun;
    }
    const { turn, reader } = begun;
    return { ...begun, events: follow(turn.id, { reader, after: turn.from, opened: answer }, by) };
  };
  /** Where the connection breaks after the request was sent, the same is sent again: its key joins the turn that it has begun. */
  const begin = async (request: BeginRequest, by: TurnCaller): Promise<BegunTurn> => {
    const body = await runInSlices(writeJson(beginBody(request)), by.signal);
    return traced(request.span, `${PREFIX}/turns`, async (trace) => {
      const attempt = (): Promise<BegunTurn> => beginOnce(body, { ...trace }, by);
      const again = async (): Promise<BegunTurn> => {
        try {
          return await attempt();
        } catch (error) {
          throw error instanceof HttpClientError ? toConnectionFault(error, { isPrompt: true }) : error;
        }
      };
      try {
        return await attempt();
      } catch (error) {
        if (by.signal.aborted || !(error instanceof HttpClientError) || isNeverConnected(error.code))
          throw error instanceof Fault ? error : asFault(error, by.signal, true);
        return await withRetries(again, { clock, chance, signal: by.signal });
      }
    });
  };

  const turnsWhere = (query: QueryParameters, by: TurnCaller): Promise<readonly TurnSnapshot[]> =>
    call({ method: 'GET', path: `${PREFIX}/turns`, query, schema: v.array(TurnViewRecord) }, by);
  const messagesIn = (sessionID: string, by: TurnCaller): Promise<readonly MessageRecord[]> => {
    const path = `/session/${segment(sessionID, 'turn_not_found')}/message`;
    return call({ method: 'GET', path, schema: v.array(MessageRecord) }, by);
  };

  return {
    begin,
    follow: (turnID, after, by) => follow(turnID, { after }, by),
    read: (turnID, by) => call({ method: 'GET', path: `${turnPath(turnID)}/output`, schema: OutputRecord }, by),
    view,
    async input({ sessionID, promptID, messageIDs, callIDs }, by) {
      const all = await messagesIn(sessionID, by);
      const isOfAnswer = ({ info }: MessageRecord): boolean => info.role === 'assistant' && info.parentID === promptID;
      return all.filter(
        (record) => messageIDs.includes(record.info.id) || (isOfAnswer(record) && hasCallOf(record, callIDs)),
      );
    },
    async turnsOfPart({ sessionID, partID }, by) {
      const found = await messagesIn(sessionID, by);
      const info = found.find(({ parts }) => parts.some(({ id }) => id === partID))?.info;
      return info?.role === 'assistant' ? turnsWhere({ sessionID, promptID: info.parentID }, by) : [];
    },
    waitingTurns: (by) => turnsWhere({ status: 'waiting' }, by),
    async leave(turnID, { id, readTo, shownIDs }, by) {
      const body = {
        reader: id,
        ...(readTo === undefined ? {} : { readTo }),
        ...(shownIDs === undefined || shownIDs.length === 0 ? {} : { shownIDs }),
      };
      await call({ method: 'POST', path: `${turnPath(turnID)}/leave`, body, schema: Done, isRepeatable: true }, by);
    },
    cancel: (turnID, by) =>
      call({ method: 'POST', path: `${turnPath(turnID)}/cancel`, schema: TurnViewRecord, isRepeatable: true }, by),
    async delete(turnID, by) {
      await call({ method: 'DELETE', path: turnPath(turnID), schema: Done }, by);
    },
    async decide(turnID, decisions, by) {
      const body = { decisions, by: DECIDER };
      await call({ method: 'POST', path: `${turnPath(turnID)}/decisions`, body, schema: Done }, by);
    },
    conversations: {
      create: (given, by) =>
        call(
          {
            ...{ method: 'POST', path: `${PREFIX}/conversations`, schema: ConversationRecord },
            body: { ...given, messages: given.messages.map(messageBody) },
            isRepeatable: given.key !== undefined,
          },
          by,
        ),
      find: (place, by) =>
        'id' in place
          ? call({ method: 'GET', path: conversationPath(place.id), schema: ConversationRecord }, by)
          : call(
              {
                method: 'GET',
                path: `${PREFIX}/conversations`,
                query: { name: place.name },
                schema: ConversationRecord,
              },
              by,
            ),
      setMetadata: (id, metadata, by) =>
        call({ method: 'PATCH', path: conversationPath(id), body: { metadata }, schema: ConversationRecord }, by),
      async delete(id, by) {
        await call({ method: 'DELETE', path: conversationPath(id), schema: Done }, by);
      },
      messages: (id, { limit, order, after }, by) => {
        const query = { limit: String(limit), order, ...(after === undefined ? {} : { after }) };
        return call({ method: 'GET', path: `${conversationPath(id)}/messages`, query, schema: MessagePageRecord }, by);
      },
      async append(id, given, by) {
        const body = { messages: given.map(messageBody) };
        const path = `${conversationPath(id)}/messages`;
        const { messageIDs } = await call({ method: 'POST', path, body, schema: AddedRecord }, by);
        const { sessionID } = await call({ method: 'GET', path: conversationPath(id), schema: ConversationRecord }, by);
        const callIDs = given.flatMap((message) => (message.role === 'tool' ? [message.callID] : []));
        const all = await messagesIn(sessionID, by);
        return all.filter((record) => messageIDs.includes(record.info.id) || hasCallOf(record, callIDs));
      },
      async deleteMessage(id, messageID, by) {
        const path = `${conversationPath(id)}/messages/${segment(messageID, 'conversation_not_found')}`;
        await call({ method: 'DELETE', path, schema: Done }, by);
      },
    },
    takesClientTools: async () => true,
  };
};
