import { Fault } from '../../core/fault.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentFeatures } from '../agent/features.ts';
import { findGivenCalls, type GivenCalls } from '../agent/given-calls.ts';
import type { MessageRecord } from '../agent/schema.ts';
import type { AgentClient } from '../agent/types.ts';
import { promptFormat, promptIDsAfter } from '../conversation/transcript.ts';
import type { ConversationSession } from '../conversation/types.ts';
import { type BridgeFault, isBridgeFault } from '../errors.ts';
import {
  type BridgeRequest,
  badInput,
  type ClientFunctions,
  type ClientToolResults,
  type PromptPart,
} from '../request.ts';
import type { AnswerSource } from './approvals/waiting-turns.ts';
import type { ClientCallsPause } from './log.ts';
import type { LogPosition } from './outcome.ts';
import { type AgentTurnNeeds, startTurn } from './turn.ts';

const TOOLS_NOT_TAKEN = badInput(
  'unsupported_value',
  'tool_choice',
  "Unsupported value at 'tool_choice': the agent server takes no functions of clients, so one of several cannot be forced. Name one, or use the agent server of Gatehouse",
);

/**
 * The request as the agent can take it: without the client's functions where it takes none, and with results of calls in the prompt,
 * where they are in words.
 */
export const forAgent = async (request: BridgeRequest, features: AgentFeatures): Promise<BridgeRequest> => {
  const { toolResults } = request;
  const { clientTools, ...withoutTools } = request;
  const takesTools = clientTools === undefined || (await features.takesClientTools());
  if (!takesTools && clientTools.choice === 'required') throw TOOLS_NOT_TAKEN;
  const usable = takesTools ? request : withoutTools;
  if (toolResults === undefined) return usable;
  const { history, described, after } = toolResults;
  return { ...usable, history, prompt: [...described, ...after] };
};

/** What the results at the end of a request do: the turn that waits for them goes on, or there is a new one for a prompt. */
type ResultsUse =
  | { readonly kind: 'continues'; readonly source: AnswerSource }
  | { readonly kind: 'prompt'; readonly prompt: readonly PromptPart[] };

/**
 * Gives the agent the results of a request's client; undefined for a request without. `begin` is called before they go to a turn that
 * goes on by them: from then on it counts as begun, and a client that leaves does not break off the giving.
 */
export type UseToolResults = (
  session: ConversationSession,
  request: BridgeRequest,
  signal: AbortSignal,
  begin: () => void,
) => Promise<ResultsUse | undefined>;

/** Where an answer begins that follows the calls of a client. */
export const positionAfter = ({ messageID, items, usage }: ClientCallsPause): LogPosition => ({
  ...{ items, usage },
  afterMessageID: messageID,
});

/** How often results are given whose calls the agent lists as waiting, and takes none for. */
const TRIES = 3;
const TOOL_PATH = /^clientTools\.tools(?:\[(\d{1,4})\]\.(name|description|inputSchema))?/;
const TOO_MANY_TOOLS = badInput(
  'invalid_value',
  'tools',
  "Invalid value at 'tools': the agent server does not take so many, or such long schemas together",
);

/** The fault for a refusal of the agent: with the place in the client's body, where it is about one of its tools. */
export const toToolFault = (
  fault: Fault<BridgeFault>,
  clientTools: ClientFunctions | undefined,
): Fault<BridgeFault> => {
  const { detail } = fault;
  if (detail.kind !== 'agent-failed' || clientTools === undefined) return fault;
  const found = TOOL_PATH.exec(detail.path ?? '');
  if (found === null) return fault;
  const [, index, member] = found;
  const tool = index === undefined ? undefined : clientTools.tools[Number(index)];
  if (tool === undefined) return TOO_MANY_TOOLS;
  const at = `${tool.at}.${member === 'inputSchema' ? 'parameters' : member}`;
  if (member === 'name')
    return badInput(
      'invalid_value',
      at,
      `Invalid value at '${at}': the agent has a tool of this name. Use another name`,
    );
  // The agent's words, which say what is expected and where.
  const [, reason = 'the agent server does not take it'] = detail.message.split(`${detail.path}: `);
  return badInput('invalid_value', at, `Invalid value at '${at}': ${reason}`);
};

const missingResults = (callIDs: readonly string[]): Fault =>
  badInput(
    'missing_tool_result',
    null,
    `The last answer has more calls: send the results of all of them. Results are missing for ${callIDs.join(', ')}`,
  );

const unread = (): Fault<BridgeFault> =>
  new Fault({ kind: 'backend-error', reason: 'The agent server did not list the messages of the turn' });

/** Whether it was aborted after the results: then nothing goes on with them. */
const isGivenUp = ({ next }: GivenCalls): boolean => next?.error?.name === 'MessageAbortedError';

/**
 * Results whose calls wait at the agent go there, and their turn goes on. The first result of a call counts: who brings another
 * one gets the same answer. Results that no call waits for become a prompt in words, so that none is lost.
 */
export const createToolResults = (agent: AgentClient, turnNeeds: AgentTurnNeeds): UseToolResults => {
  const never = new AbortController().signal;
  const readMessages = async (sessionID: string, signal: AbortSignal): Promise<readonly MessageRecord[]> => {
    try {
      return await agent.messages(sessionID, signal);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  const give = async (
    sessionID: string,
    results: ClientToolResults['results'],
    { given, noReply, request }: { given: GivenCalls; noReply: boolean; request: BridgeRequest },
    signal: AbortSignal,
  ) => {
    const { system, clientTools, span } = request;
    const format = request.format && promptFormat(request.format);
    const known = results.flatMap(({ callID, output }) => (given.callIDs.includes(callID) ? [{ callID, output }] : []));
    try {
      const answer = { results: known, noReply, system, clientTools, format, ...(span && { span }) };
      return await agent.giveToolResults(sessionID, answer, signal);
    } catch (error) {
      throw isBridgeFault(error) ? toToolFault(error, clientTools) : error;
    }
  };
  /** `post` gives the results, and returns whether the turn goes on by that. Undefined: they were given before. */
  const follow = async (
    sessionID: string,
    { promptID, messageID }: GivenCalls,
    post?: () => Promise<boolean>,
  ): Promise<ResultsUse | undefined> => {
    const continued = Promise.withResolvers<boolean>();
    const start = post === undefined ? {} : { continued: continued.promise };
    const turn = startTurn(sessionID, { kind: 'existing', promptID, ...start }, turnNeeds);
    try {
      await turn.loaded;
      const pause = turn.log.pauses().find((known) => known.messageID === messageID);
      if (pause === undefined) throw unread();
      const goesOn = post === undefined || (await post());
      continued.resolve(goesOn);
      const source = { turn, log: turn.log, from: positionAfter(pause) };
      return goesOn ? { kind: 'continues', source } : undefined;
    } finally {
      continued.resolve(false);
    }
  };

  return async function use({ sessionID, knownMessageIDs }, request, signal, begin): Promise<ResultsUse | undefined> {
    const { toolResults } = request;
    // In a session without messages no call waits.
    if (toolResults === undefined || knownMessageIDs.size === 0) return undefined;
    const { results, files, after, earlier } = toolResults;
    const callIDs = results.map(({ callID }) => callID);
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const records = await readMessages(sessionID, signal);
      const given = findGivenCalls(records, callIDs);
      // Results among calls may be of the same ones. What was answered before is known.
      const others = earlier.filter(({ callID }) => given?.callIDs.includes(callID) === true);
      const unheard = others.filter(({ callID }) => given?.unanswered.includes(callID) === true);
      const described = unheard.flatMap((result) => result.described);
      const inWords: ResultsUse = { kind: 'prompt', prompt: [...described, ...request.prompt] };
      if (given === undefined || promptIDsAfter(records, new Set([given.promptID])).length > 0) return inWords;
      // The agent takes no results of calls that it does not know, so the model gets these as text.
      const areAllKnown = callIDs.every((id) => given.callIDs.includes(id));
      const followUp = areAllKnown ? [...files, ...after] : request.prompt;
      const noReply = followUp.length > 0;
      if (given.waiting.length === 0) {
        if (isGivenUp(given) || callIDs.some((id) => given.unanswered.includes(id))) return inWords;
        if (noReply) return { kind: 'prompt', prompt: followUp };
        // They were stored for a prompt that never came, such as one that was refused.
        if (!given.isResumed) return inWords;
        // Its agent may have been killed before it went on with what it has stored.
        return follow(sessionID, given, given.next === undefined ? async () => true : undefined);
      }
      const post = async (givingSignal: AbortSignal): Promise<boolean> => {
        const { accepted, waiting } = await give(
          sessionID,
          [...others, ...results],
          { given, noReply, request },
          givingSignal,
        );
        if (waiting.length > 0 && !noReply) throw missingResults(waiting);
        return accepted.length > 0;
      };
      const goOn = async (): Promise<boolean> => {
        signal.throwIfAborted();
        begin();
        return post(never);
      };
      const used = noReply
        ? (await post(signal)) && ({ kind: 'prompt', prompt: followUp } as const)
        : await follow(sessionID, given, goOn);
      if (used) return used;
      // They ended just now: another request was faster, or their time is over.
    }
    return { kind: 'prompt', prompt: request.prompt };
  };
};
