import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import { jsonResponse, jsonTextResponse } from '../../../core/http/response.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { writeJson } from '../../../core/json.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import type { AssistantInfo, MessageRecord } from '../../agent/schema.ts';
import type { AgentClient } from '../../agent/types.ts';
import { responseNotFoundText } from '../../conversation/response-id.ts';
import { promptIDsAfter } from '../../conversation/transcript.ts';
import type { Conversations, Owner } from '../../conversation/types.ts';
import { isReasoning } from '../../stream/hidden-reasoning.ts';
import { toTurnEnd } from '../../turn/failure.ts';
import { createTurnLog, type TurnLog } from '../../turn/log.ts';
import { readItems } from '../../turn/log-reader.ts';
import { createTurnReducer, type TurnReducer } from '../../turn/reducer.ts';
import { NO_ECHO } from './echo.ts';
import { createOutputItems } from './items.ts';
import { type ResponseObject, type ResponseState, toDeletedResponse, toResponseObject } from './response.ts';

type ResponseLocation = {
  readonly responseID: string;
  /** The id of the user message that it answers. */
  readonly promptID: string;
  /** For an answer that has not started. */
  readonly nowSeconds: number;
  /** Whether clients get the model's reasoning. */
  readonly showsReasoning: boolean;
};

/** The messages of one turn, from its prompt to the next prompt of a user. */
const messagesOfTurn = (messages: readonly MessageRecord[], promptID: string): readonly MessageRecord[] => {
  const from = messages.findIndex(({ info }) => info.id === promptID);
  if (from === -1) return [];
  const [next] = promptIDsAfter(messages, new Set([promptID]));
  const to = messages.findIndex(({ info }) => info.id === next);
  return messages.slice(from, to === -1 ? undefined : to);
};

const readTurn = (turn: readonly MessageRecord[]): { log: TurnLog; transcript: TurnReducer } => {
  const writer = createTurnLog();
  const transcript = createTurnReducer(writer, new Set());
  for (const { info, parts } of turn) {
    transcript.applyEvent({ type: 'message.updated', properties: { info } });
    for (const part of parts) transcript.applyEvent({ type: 'message.part.updated', properties: { part } });
  }
  return { log: writer.log, transcript };
};

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

const isOver = (last: AssistantInfo | undefined): last is AssistantInfo =>
  last !== undefined && (last.time.completed !== undefined || last.error !== undefined);

/**
 * A response rebuilt from the agent's messages; undefined if its turn is not among them. The approval requests that it ended
 * with are left out, and a response that was continued after an approval is the whole turn.
 */
export const rebuildResponse = (
  messages: readonly MessageRecord[],
  { responseID, promptID, nowSeconds, showsReasoning }: ResponseLocation,
): ResponseObject | undefined => {
  const turn = messagesOfTurn(messages, promptID);
  if (turn.length === 0) return undefined;
  const { log, transcript } = readTurn(turn);
  const last = transcript.lastAnswer();
  if (isOver(last)) log.closeTexts();
  const items = createOutputItems(responseID);
  for (const event of readItems(log.items())) if (showsReasoning || !isReasoning(event)) items.applyEvent(event);

  const first = turn.find(({ info }) => info.role === 'assistant')?.info;
  const facts = {
    id: responseID,
    model: last === undefined ? '' : `${last.providerID}/${last.modelID}`,
    createdSeconds: first?.role === 'assistant' ? secondsOf(first.time.created) : nowSeconds,
    echo: NO_ECHO,
  };
  const inState = (state: ResponseState): ResponseObject => toResponseObject(facts, state);
  if (!isOver(last)) {
    items.close('in_progress');
    return inState({ kind: 'running', output: items.list() });
  }
  const how = toTurnEnd(last);
  if (how.kind === 'failed') {
    items.close('incomplete');
    return inState({ kind: 'failed', output: items.list(), failure: how.failure });
  }
  const { finish } = how;
  items.close(finish === 'stop' ? 'completed' : 'incomplete');
  const end = { finish, usage: log.usage(), approvalRequests: [] };
  const endedSeconds = secondsOf(last.time.completed ?? last.time.created);
  return inState({ kind: 'ended', output: items.list(), end, endedSeconds });
};

type StoredResponseOptions = {
  readonly authenticate: (request: Request) => Owner;
  readonly conversations: Conversations;
  readonly agent: AgentClient;
  readonly clock: Clock;
  readonly showsReasoning: boolean;
  readonly runInSlices: RunInSlices;
};

/** A client that has left by then waits for nothing, and the rest of the writing is short. */
const never = new AbortController().signal;

const notFound = (id: string): Fault =>
  new Fault({ kind: 'not-found', hint: `${responseNotFoundText(id)} for this API key` });

/** `GET` and `DELETE /v1/responses/{id}`: responses are not stored here but rebuilt from the agent's session. */
export const createStoredResponseRoutes = ({
  authenticate,
  conversations,
  agent,
  clock,
  showsReasoning,
  runInSlices,
}: StoredResponseOptions): RouteTable => ({
  '/v1/responses/:id': {
    async GET(request, { id = '' }) {
      const owner = authenticate(request);
      const found = await conversations.findResponse(id, owner, request.signal);
      if (found === undefined) throw notFound(id);
      const messages = await agent.messages(found.sessionID, request.signal);
      const nowSeconds = Math.floor(clock.now() / 1000);
      const response = rebuildResponse(messages, {
        responseID: id,
        promptID: found.promptID,
        nowSeconds,
        showsReasoning,
      });
      if (response === undefined) throw notFound(id);
      return jsonTextResponse(200, await runInSlices(writeJson(response), never));
    },
    async DELETE(request, { id = '' }) {
      const owner = authenticate(request);
      if (!(await conversations.deleteResponse(id, owner, request.signal))) throw notFound(id);
      return jsonResponse(200, toDeletedResponse(id));
    },
  },
});
