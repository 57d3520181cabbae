import { Fault } from '../../core/fault.ts';
import { notFoundText } from '../../core/identifier.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { answerStatePublication, messagePublication } from '../events/records.ts';
import { CLIENT_TOOL, isClientCall } from '../protocol/call-metadata.ts';
import { isClientCallID } from '../protocol/ids.ts';
import type { ClientToolResultsBody } from '../protocol/tool-schemas.ts';
import type { ClientTools, OutputFormat, Session, ToolPart, UserMessage } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { endExpiredCalls, readAwaitedCalls, withoutAwaitedCalls } from '../session/awaited-calls.ts';
import { readMessagePages } from '../session/message-shapes.ts';
import { usableFormat } from '../session/prompt.ts';
import { notFound, type Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { callEndPublication } from './call-end.ts';
import type { UsableClientTools } from './client-tools-check.ts';
import type { ToolOutcome } from './tool.ts';

type ResultsNeeds = AgentRuntime & {
  readonly sessions: Sessions;
  readonly usableClientTools: UsableClientTools;
  /** Whether a session is being removed: it accepts no results any more. */
  readonly isClosing: (sessionID: string) => boolean;
};

type Result = ClientToolResultsBody['results'][number] & Pick<ToolOutcome, 'files'>;

/** Results as a request brings them, maybe with files. */
export type GivenResults = Omit<ClientToolResultsBody, 'results'> & { readonly results: readonly Result[] };

/** What became of results, by the ids of their calls. */
type TakenResults = {
  /** These count. */
  readonly accepted: readonly string[];
  /** These calls had ended before: the results change nothing. */
  readonly settled: readonly string[];
  /** Calls that still wait for theirs. */
  readonly waiting: readonly string[];
  /** The prompt whose turn goes on; undefined where none does. It is stored as owed. */
  readonly resumed: { readonly session: Session; readonly user: UserMessage } | undefined;
};

/** A `not-found` fault unless each of these ids is that of a call that the session's client was given. */
const requireGiven = async (
  store: Pick<Store, 'messages' | 'messageOutlines'>,
  sessionID: string,
  callIDs: Iterable<string>,
): Promise<void> => {
  const missing = new Set(callIDs);
  if (missing.size === 0) return;
  for await (const page of readMessagePages(store, sessionID)) {
    for (const part of page.flatMap(({ parts }) => parts))
      if (part.type === 'tool' && isClientCall(part)) missing.delete(part.callID);
    if (missing.size === 0) return;
  }
  throw new Fault({ kind: 'not-found', hint: notFoundText('call', [...missing].find(isClientCallID)) });
};

/** What comes with the results in place of what the prompt has. Undefined: that stays. */
type Replaced = {
  readonly tools: { readonly now: ClientTools | undefined } | undefined;
  readonly output: { readonly now: OutputFormat | undefined } | undefined;
  readonly system: string | undefined;
};

/** The prompt as it is stored when its answer goes on: the choice of tools held for the calls that were made. */
const resumedPrompt = (
  { time, clientTools: before, format: formatBefore, ...user }: UserMessage,
  { tools, output, system }: Replaced,
  now: number,
): UserMessage => {
  const kept: ClientTools | undefined = before && { ...before, choice: before.choice === 'none' ? 'none' : 'auto' };
  const clientTools = tools === undefined ? kept : tools.now;
  const format = output === undefined ? formatBefore : output.now;
  return {
    ...user,
    time: { ...time, resumed: now },
    ...(system === undefined ? {} : { system }),
    ...(format === undefined ? {} : { format }),
    ...(clientTools === undefined ? {} : { clientTools }),
  };
};

/**
 * Takes the results of calls that a client carries out: the first result of each call counts. Everything is stored in one
 * commit with the session, which is changed only by who has read it as it is now: so of two servers that get a result one
 * takes it. With the last result that is waited for, the prompt is owed its answer again.
 */
export const createClientResults = (needs: ResultsNeeds) => {
  const { store, sessions, clock, usableClientTools, compileSchema, metrics, isClosing } = needs;

  const endOf = (part: ToolPart, { output, isError, files = [] }: Result): Publication => {
    const now = clock.now();
    const { start = now, written } =
      part.state.status === 'running' ? { start: part.state.time.start, written: part.state.metadata?.arguments } : {};
    const metadata = { ...CLIENT_TOOL, ...(written === undefined ? {} : { arguments: written }) };
    const outcome = { output, title: part.tool, metadata, isError, files };
    return callEndPublication(needs, { part, outcome, time: { start, end: now } });
  };
  const promptOf = async ({ id, awaitedCalls }: Session): Promise<UserMessage | undefined> => {
    const answer = awaitedCalls && (await store.message(id, awaitedCalls.messageID))?.info;
    const user = answer?.role === 'assistant' ? (await store.message(id, answer.parentID))?.info : undefined;
    return user?.role === 'user' ? user : undefined;
  };
  /** `also`: what else is stored in the commit; it is given the prompt that goes on. */
  return async (
    sessionID: string,
    body: GivenResults,
    also: (resumed: UserMessage | undefined) => Publication = () => ({}),
  ): Promise<TakenResults> => {
    const { results, noReply, system } = body;
    // An empty list, and the format of a text: none from here on.
    const tools = body.clientTools && { now: usableClientTools(body.clientTools) };
    const output = body.format && { now: usableFormat(body, compileSchema) };
    const before = await endExpiredCalls(needs, sessionID);
    const named = new Map(results.map((result): [string, Result] => [result.callID, result]).reverse());
    const callIDs = [...new Set(results.map(({ callID }) => callID))];
    let taken: Omit<TakenResults, 'resumed'> = { accepted: [], settled: callIDs, waiting: [] };
    let user: UserMessage | undefined;
    let end: Publication = {};
    const decide = async (session: Session): Promise<Session> => {
      if (isClosing(sessionID)) throw notFound('session', sessionID);
      const calls = await readAwaitedCalls(store, session);
      const answered = calls.flatMap((part) => {
        const result = named.get(part.callID);
        return result === undefined ? [] : [{ part, result }];
      });
      const accepted = answered.map(({ part }) => part.callID);
      const waiting = calls.map(({ callID }) => callID).filter((id) => !named.has(id));
      taken = { accepted, settled: callIDs.filter((id) => !accepted.includes(id)), waiting };
      const goesOn = accepted.length > 0 && waiting.length === 0 && !noReply;
      const prompt = goesOn ? await promptOf(session) : undefined;
      user = prompt && resumedPrompt(prompt, { tools, output, system }, clock.now());
      const resuming = user === undefined ? [] : [messagePublication(user), answerStatePublication(user, 'owed')];
      end = joinPublications(...answered.map(({ part, result }) => endOf(part, result)), ...resuming, also(user));
      const { awaitedCalls } = session;
      if (awaitedCalls === undefined || waiting.length === 0) return withoutAwaitedCalls(session);
      return { ...session, awaitedCalls: { ...awaitedCalls, callIDs: waiting } };
    };
    await decide(before);
    await requireGiven(store, sessionID, taken.settled);
    if (taken.accepted.length === 0) return { ...taken, resumed: undefined };
    const session = await sessions.update(sessionID, decide, (changed) => joinPublications(changed, end));
    const failed = new Set(results.filter(({ isError }) => isError).map(({ callID }) => callID));
    for (const callID of taken.accepted)
      metrics.toolCallEnded({ server: 'client', outcome: failed.has(callID) ? 'failed' : 'completed' });
    return { ...taken, resumed: user && { session, user } };
  };
};
