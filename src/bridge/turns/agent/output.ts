import { pause } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import { HttpClientError, isNeverConnected } from '../../../core/http/client.ts';
import { parseJson, parseJsonValue, writeJson } from '../../../core/json.ts';
import {
  agentInterrupted,
  toConnectionFault,
  toRefusalFault,
  toUnusableAnswerFault,
  withRetries,
} from '../../agent/errors.ts';
import type { BridgeFault } from '../../errors.ts';
import type { BeginRequest, BegunTurn, TurnCaller, TurnEntry, TurnEvent, TurnSnapshot } from '../port.ts';
import { BegunRecord, readEntries, TurnViewRecord } from '../records.ts';
import { type NamedEvent, type OpenAnswer, openAnswer } from './event-reader.ts';
import { type AgentTurns, beginBody, ownerHeaders, refusalOf, TURNS, turnPath, viewTurn } from './wire.ts';

const LONG_EVENT_CHARS = 1024 * 1024;

const asFault = (error: unknown, signal: AbortSignal, isPrompt: boolean): unknown => {
  if (error instanceof Fault) return error;
  if (signal.aborted) return signal.reason instanceof Fault ? signal.reason : new Fault({ kind: 'client-left' });
  return toConnectionFault(error, { isPrompt });
};

const faultOf = async (
  { clock }: AgentTurns,
  { status, header, text }: OpenAnswer,
  isPrompt: boolean,
): Promise<Fault<BridgeFault>> => {
  // Of several servers that turned the request away, the answer of the last one is not read.
  const answer = { status, header, text: await text().catch(() => '') };
  return refusalOf(answer) ?? toRefusalFault(answer, clock.now(), { isPrompt });
};

type Reading = {
  /** Undefined for a reader that does not count. */
  readonly reader?: string | undefined;
  readonly after: number;
};

/** Opens the stream of a turn after a position. */
const openOutput = async (
  turns: AgentTurns,
  turnID: string,
  { reader, after }: Reading,
  { owner, signal }: TurnCaller,
): Promise<OpenAnswer> => {
  const { transport, urlOf, clock } = turns;
  const query = { stream: 'true', after: String(after), ...(reader === undefined ? {} : { reader }) };
  const url = urlOf(`${turnPath(turnID)}/output`, query);
  const headers = { ...ownerHeaders(turns, owner), accept: 'text/event-stream' };
  try {
    const answer = await openAnswer(transport.stream, { url, headers }, { clock, signal });
    if (answer.status === 200 && answer.isEventStream) return answer;
    throw await faultOf(turns, answer, false);
  } catch (error) {
    throw asFault(error, signal, false);
  }
};

/** What events that came together say, of entries after a position. */
type Batch = {
  readonly entries: readonly TurnEntry[];
  /** As the last of them shows it. */
  readonly turn: TurnSnapshot | undefined;
  readonly hasEnded: boolean;
  /** The server stops, so another one is asked for the rest. */
  readonly isStopping: boolean;
};

const readBatch = async (
  events: readonly NamedEvent[],
  after: number,
  { clock }: AgentTurns,
  { signal }: TurnCaller,
): Promise<Batch> => {
  const entries: TurnEntry[] = [];
  let turn: TurnSnapshot | undefined;
  for (const { name, data } of events) {
    // To take it from the connection has been work for a step of its own, and so is the reading of its JSON.
    if (data.length > LONG_EVENT_CHARS) await pause(clock, 0, signal);
    if (name === 'entries') {
      for (const entry of readEntries(parseJsonValue(data)))
        if (entry.position > (entries.at(-1)?.position ?? after)) entries.push(entry);
    } else if (name === 'turn' || name === 'end') turn = parseJson(TurnViewRecord, data);
  }
  const last = events.at(-1)?.name;
  return { entries, turn, hasEnded: last === 'end', isStopping: last === 'stopping' };
};

type Opened = {
  readonly answer: OpenAnswer;
  /** Events that were read from it. */
  readonly events: readonly NamedEvent[];
};

/** The events of a turn, over one connection after the other. Entries that came together are one event, and none comes twice. */
export async function* followTurn(
  turns: AgentTurns,
  turnID: string,
  { reader, after, opened }: Reading & { readonly opened?: Opened },
  by: TurnCaller,
): AsyncGenerator<TurnEvent, void, undefined> {
  const { signal } = by;
  let position = after;
  let answer = opened?.answer;
  let events = opened?.events ?? [];
  for (;;) {
    answer ??= await withRetries(() => openOutput(turns, turnID, { reader, after: position }, by), {
      ...turns,
      signal,
    }).catch((error: unknown) => {
      throw signal.aborted ? error : agentInterrupted();
    });
    try {
      for (;;) {
        if (events.length === 0) events = await answer.nextEvents();
        if (events.length === 0) break;
        const { entries, turn, hasEnded, isStopping } = await readBatch(events, position, turns, by);
        events = [];
        position = entries.at(-1)?.position ?? position;
        if (entries.length > 0) yield { kind: 'entries', entries };
        if (turn !== undefined) yield { kind: hasEnded ? 'end' : 'turn', turn };
        if (hasEnded) return;
        if (isStopping) break;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!(error instanceof HttpClientError)) throw error;
    } finally {
      answer.close();
    }
    answer = undefined;
  }
}

/** A refusal that is an outcome: a turn waits. */
const asOutcome = async (turns: AgentTurns, fault: Fault<BridgeFault>, by: TurnCaller): Promise<BegunTurn> => {
  const { detail } = fault;
  const [turnID] = detail.kind === 'turn-refused' && detail.code === 'turn_waiting' ? detail.ids : [];
  if (turnID !== undefined) return { outcome: 'waiting', turn: await viewTurn(turns, turnID, by) };
  throw fault;
};

/** The first events of a stream. Without any the connection has failed. */
const firstEvents = async (answer: OpenAnswer): Promise<readonly NamedEvent[]> => {
  try {
    const events = await answer.nextEvents();
    if (events.length === 0) throw new HttpClientError('CONNECTION_FAILED');
    return events;
  } catch (error) {
    answer.close();
    throw error;
  }
};

const beginOnce = async (turns: AgentTurns, body: string, trace: object, by: TurnCaller): Promise<BegunTurn> => {
  const { transport, urlOf, clock } = turns;
  const accept = 'text/event-stream, application/json';
  const headers = { ...ownerHeaders(turns, by.owner), 'content-type': 'application/json', ...trace, accept };
  const answer = await openAnswer(transport.stream, { url: urlOf(TURNS), headers, body }, { clock, signal: by.signal });
  if (answer.status !== 200) return asOutcome(turns, await faultOf(turns, answer, true), by);
  const [first, ...events] = answer.isEventStream ? await firstEvents(answer) : [];
  const text = first === undefined ? await answer.text() : first.data;
  const begun = parseJson(BegunRecord, text);
  if (begun !== undefined && 'reader' in begun) {
    const { turn, reader } = begun;
    const opened = { answer, events };
    return { ...begun, events: followTurn(turns, turn.id, { reader, after: turn.from, opened }, by) };
  }
  answer.close();
  if (begun === undefined) throw toUnusableAnswerFault(text, { isPrompt: true });
  return begun;
};

/**
 * Begins a turn or joins one. Where the connection breaks after the request was sent, the same is sent again: its key joins the turn
 * that it has begun.
 */
export const beginTurnAtAgent = async (
  turns: AgentTurns,
  request: BeginRequest,
  by: TurnCaller,
): Promise<BegunTurn> => {
  const { signal } = by;
  const body = await turns.runInSlices(writeJson(beginBody(request)), signal);
  return turns.traced(request.span, TURNS, async (trace) => {
    const attempt = (): Promise<BegunTurn> => beginOnce(turns, body, { ...trace }, by);
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !(error instanceof HttpClientError) || isNeverConnected(error.code))
        throw asFault(error, signal, true);
    }
    const again = () =>
      attempt().catch((error: unknown) => {
        throw toConnectionFault(error, { isPrompt: true });
      });
    return withRetries(again, { ...turns, signal });
  });
};
