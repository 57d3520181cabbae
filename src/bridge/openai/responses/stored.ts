import { pause } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import { jsonResponse, jsonTextResponse } from '../../../core/http/response.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { writeJson } from '../../../core/json.ts';
import { promptOfToken } from '../../agent/prompt-token.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import type { AgentClient } from '../../agent/types.ts';
import { responseNotFoundText } from '../../conversation/response-id.ts';
import { newestWithoutToken } from '../../conversation/transcript.ts';
import type { Conversations, FoundResponse, Owner } from '../../conversation/types.ts';
import type { AnswerFailure } from '../../errors.ts';
import type { ApprovalRequest } from '../../output.ts';
import { badInput } from '../../request.ts';
import { toApprovalRequest } from '../../turn/approvals/text.ts';
import { INTERRUPTED_FAILURE } from '../../turn/failure.ts';
import { itemsOfPrompt } from '../conversations/history.ts';
import { parsePageQuery, toItemPage } from '../conversations/page.ts';
import type { TrackRequest } from '../tracked.ts';
import { NO_ECHO } from './echo.ts';
import { rebuildResponse, resultsBefore } from './rebuild/rebuild.ts';
import { messagesOfTurn } from './rebuild/turn-segments.ts';
import { type ResponseObject, toDeletedResponse, toResponseObject } from './response.ts';
import { createSharedLooks, parseStreamQuery, type ResumedStreamNeeds, streamResumed } from './resumed-stream.ts';
import type { RunningStreams } from './running-streams.ts';

type StoredResponseOptions = {
  readonly tracked: TrackRequest;
  readonly authenticate: (request: Request) => Owner;
  readonly conversations: Pick<Conversations, 'findResponse' | 'deleteResponse'>;
  readonly agent: Pick<AgentClient, 'messages' | 'busySessions' | 'permissionRequests' | 'abort'>;
  readonly showsReasoning: boolean;
  readonly runningStreams: Pick<RunningStreams, 'find'>;
} & Omit<ResumedStreamNeeds, 'look'>;

/** A bridge that has not sent a prompt after this time was ended before. */
const QUEUED_SECONDS = 60;
/** How long an agent may take to end an aborted turn, or to get a prompt that is to be aborted. */
const CANCEL_LIMIT_MS = 3000;
const CANCEL_PAUSE_MS = 50;
/** How long an agent takes from a prompt that is stored to a session that is busy. */
const BEGIN_PAUSE_MS = 50;

/** A client that has left by then waits for nothing, and the rest of the writing is short. */
const never = new AbortController().signal;

const notFound = (id: string): Fault =>
  new Fault({ kind: 'not-found', hint: `${responseNotFoundText(id)} for this API key` });

const NOT_SENT: AnswerFailure = {
  status: 502,
  code: 'agent_interrupted',
  message:
    'The agent server has not answered this request, and may not have got it: look into the conversation, or send it again',
};

const NO_COMPACTION = new Fault({
  kind: 'not-found',
  hint: 'Conversations are not compacted by request here: the agent summarises one that has become too long by itself. Leave this request out, and go on with the same items, previous_response_id or conversation',
});

/** The id of a response's prompt; undefined while the agent has none. That of another request has another token, if its server keeps any. */
const promptOf = ({ promptID, promptIDs, token }: FoundResponse, messages: readonly MessageRecord[]) =>
  promptID ?? promptOfToken(messages, token) ?? newestWithoutToken(messages, promptIDs);

/** Reads responses, which are not stored here but rebuilt from the agent's sessions. */
const createResponseReader = ({
  conversations,
  agent,
  clock,
  showsReasoning,
}: Pick<StoredResponseOptions, 'conversations' | 'agent' | 'clock' | 'showsReasoning'>) => {
  const readApprovals = async (
    { paused, sessionID }: FoundResponse,
    signal: AbortSignal,
  ): Promise<readonly ApprovalRequest[]> => {
    if (paused === undefined || paused.approvalIDs.length === 0) return [];
    const open = await agent.permissionRequests(signal);
    return open
      .filter(({ id }) => paused.approvalIDs.includes(id))
      .map((request) => toApprovalRequest(request, sessionID));
  };
  const unsentResponse = (id: string, found: FoundResponse, nowSeconds: number): ResponseObject => {
    const { requestedSeconds: createdSeconds = 0, isBackground, conversationName } = found;
    const echo = { ...NO_ECHO, isBackground, conversationID: conversationName ?? null };
    const isQueued = nowSeconds - createdSeconds < QUEUED_SECONDS;
    return toResponseObject(
      { id, model: '', createdSeconds, echo },
      isQueued ? { kind: 'queued', output: [] } : { kind: 'failed', output: [], failure: NOT_SENT },
    );
  };
  const readOnce = async (id: string, owner: Owner, signal: AbortSignal) => {
    const found = await conversations.findResponse(id, owner, signal);
    if (found === undefined) throw notFound(id);
    const { sessionID, isBackground, conversationName, requestedSeconds } = found;
    // Before the messages: a turn that ends in between is seen as running once more, and never as cut off.
    const isBusy = (await agent.busySessions(signal)).has(sessionID);
    const messages = await agent.messages(sessionID, signal);
    const nowSeconds = Math.floor(clock.now() / 1000);
    const begun = promptOf(found, messages);
    // A turn that goes on with results of the client has no prompt of its own.
    const promptID = begun ?? (isBusy ? [...found.promptIDs].at(-1) : undefined);
    if (promptID === undefined)
      return { found, promptID, response: unsentResponse(id, found, nowSeconds), isPaused: false, isHeld: false };
    const approvalRequests = isBusy ? await readApprovals(found, signal) : [];
    const answersBefore = found.answersBefore(promptID);
    const facts = { responseID: id, promptID, answersBefore, requestedSeconds, nowSeconds };
    const place = { ...facts, isBusy, isBackground, conversationName };
    const asked = approvalRequests.length === 0 ? found.asked : undefined;
    const stored = { ...place, approvalRequests, showsReasoning, asked, continues: found.continues };
    const response = rebuildResponse(messages, stored);
    if (response === undefined) throw notFound(id);
    const prompt = messages.find(({ info }) => info.id === promptID)?.info;
    const isHeld = prompt?.role === 'user' && prompt.format?.type === 'json_schema';
    return { found, promptID, response, isPaused: approvalRequests.length > 0, isHeld };
  };
  return async (id: string, owner: Owner, signal: AbortSignal) => {
    const read = await readOnce(id, owner, signal);
    if (read.response.error?.code !== INTERRUPTED_FAILURE.code) return read;
    // One that began after the statuses were read looks as if its agent had stopped.
    await pause(clock, BEGIN_PAUSE_MS, signal);
    return readOnce(id, owner, signal);
  };
};

/** `GET` and `DELETE /v1/responses/{id}`, its `input_items`, and `POST /v1/responses/{id}/cancel`, at any bridge. */
export const createStoredResponseRoutes = (options: StoredResponseOptions): RouteTable => {
  const { tracked, authenticate, conversations, agent, clock, runInSlices } = options;
  const read = createResponseReader(options);
  const shareLooks = createSharedLooks(clock);
  const toResponse = async (response: ResponseObject): Promise<Response> =>
    jsonTextResponse(200, await runInSlices(writeJson(response), never));

  /** Aborts the turn, and waits until the agent has ended it. A response that has ended is left as it is. */
  const cancel = async (id: string, owner: Owner, signal: AbortSignal): Promise<ResponseObject> => {
    const untilMs = clock.now() + CANCEL_LIMIT_MS;
    let isAborted = false;
    for (;;) {
      const { found, promptID, response, isPaused } = await read(id, owner, signal);
      if (!found.isBackground)
        throw badInput(
          'unsupported_value',
          null,
          'Only a response in the background can be cancelled. Any other one is ended by closing its connection',
        );
      const isOpen = response.status === 'in_progress' || response.status === 'queued';
      if (!isOpen && (isAborted || !isPaused)) return response;
      if (clock.now() >= untilMs)
        throw new Fault({
          kind: 'unavailable',
          message: 'The agent server has not ended the turn yet; ask again',
          retryAfterMs: 1000,
        });
      // Its prompt has to be there: what is aborted before it would run all the same.
      if (!isAborted && response.status !== 'queued') {
        await agent.abort(found.sessionID, signal, promptID);
        isAborted = true;
      } else await pause(clock, CANCEL_PAUSE_MS, signal);
    }
  };
  return {
    // Before the routes of an id, which have no POST: clients read a 404 as an endpoint that is not there, and repeat none.
    '/v1/responses/compact': {
      POST() {
        throw NO_COMPACTION;
      },
    },
    '/v1/responses/:id': {
      GET: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        const after = parseStreamQuery(request);
        if (after === undefined) return toResponse((await read(id, owner, signal)).response);
        const streamAgain = options.runningStreams.find(id, owner);
        if (streamAgain !== undefined) return streamAgain(request, after);
        const look = shareLooks(`${owner} ${id}`, (untilSignal) => read(id, owner, untilSignal));
        return streamResumed(request, id, after, { ...options, look });
      }),
      DELETE: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        if (!(await conversations.deleteResponse(id, owner, signal))) throw notFound(id);
        return jsonResponse(200, toDeletedResponse(id));
      }),
    },
    '/v1/responses/:id/input_items': {
      GET: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        const query = parsePageQuery(request);
        const found = await conversations.findResponse(id, owner, signal);
        if (found === undefined) throw notFound(id);
        const messages = await agent.messages(found.sessionID, signal);
        const promptID = promptOf(found, messages) ?? '';
        const { turn } = messagesOfTurn(messages, promptID);
        const [prompt] = turn;
        const answersBefore = found.answersBefore(promptID);
        const items = prompt === undefined || answersBefore > 0 ? [] : itemsOfPrompt(prompt);
        const page = toItemPage([...items, ...resultsBefore(turn, answersBefore)], query);
        return jsonTextResponse(200, await runInSlices(writeJson(page), never));
      }),
    },
    '/v1/responses/:id/cancel': {
      POST: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        return toResponse(await cancel(id, owner, signal));
      }),
    },
  };
};
