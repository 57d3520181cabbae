import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import type { AgentClient } from '../../agent/types.ts';
import { type BridgeRequest, textOfParts } from '../../request.ts';
import type { Conversations } from '../types.ts';
import type { RequestMarks } from './marks.ts';

type LeftTurnsNeeds = {
  readonly agent: Pick<AgentClient, 'abort' | 'busySessions'>;
  readonly marks: Pick<RequestMarks, 'ofName'>;
  readonly clock: Clock;
};

const DIGESTED_CHARS = 65_536;
/** How long an agent may take to end an aborted turn. */
const ENDING_MS = 3000;
const ENDING_PAUSE_MS = 50;
/** How long a bridge may take to see that its client has disconnected, and to write that into the mark. */
const LEFT_WITHIN_MS = 100;
const LEFT_PAUSE_MS = 5;

/** What a request is recognised by in the history of a later one: its position there, and the length and a digest of its text. */
const digestOfNext = (position: number, text: string, digest: (text: string) => string): string =>
  `${position} ${text.length} ${digest(text.slice(0, DIGESTED_CHARS))}`;

/** The member `next` of a request's mark; undefined in a conversation without a name. */
export const nextOf = (
  { conversation, history, prompt }: BridgeRequest,
  digest: (text: string) => string,
): string | undefined =>
  conversation.kind === 'named' ? digestOfNext(history.length, textOfParts(prompt), digest) : undefined;

/** As `continuesAfter`, for an earlier request that came to another bridge: of that only the mark's `next` is known. */
const continuesAfterMark = (
  { conversation, history }: BridgeRequest,
  next: string | undefined,
  digest: (text: string) => string,
): boolean => {
  if (conversation.kind !== 'named' || next === undefined) return false;
  if (history.length === 0) return conversation.isIncremental;
  const position = Number.parseInt(next, 10);
  const message = history[position];
  return message?.role === 'user' && digestOfNext(position, message.text, digest) === next;
};

/** Ends turns that other bridges have started and that no client reads any more, when their client sends its next request. */
export const createLeftTurns = (needs: LeftTurnsNeeds): Conversations['endLeft'] => {
  const { agent, marks, clock } = needs;
  return async (request, owner, { isOwn, digest, signal }) => {
    if (request.conversation.kind !== 'named') return;
    const { id } = request.conversation;
    const find = () => {
      const found = marks.ofName(owner, id);
      const isMeant = found?.claim === found?.request.token && continuesAfterMark(request, found?.request.next, digest);
      return found !== undefined && isMeant && !isOwn(found.request.token) ? found : undefined;
    };
    // The client may have disconnected just now, and the other bridge is about to write that into the mark.
    const leftUntilMs = clock.now() + LEFT_WITHIN_MS;
    while (find()?.request.left === undefined && find() !== undefined && clock.now() < leftUntilMs)
      await pause(clock, LEFT_PAUSE_MS, signal);
    const left = find();
    if (left?.request.left === undefined) return;
    const { sessionID } = left;
    const isBusy = async (): Promise<boolean> => (await agent.busySessions(signal)).has(sessionID);
    if (!(await isBusy())) return;
    await agent.abort(sessionID, signal, left.request.promptID);
    const untilMs = clock.now() + ENDING_MS;
    while (clock.now() < untilMs && (await isBusy())) await pause(clock, ENDING_PAUSE_MS, signal);
  };
};
