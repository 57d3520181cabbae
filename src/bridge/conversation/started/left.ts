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
const ENDING_MS = 3000;
const ENDING_PAUSE_MS = 50;
const TOLD_WITHIN_MS = 100;
const TOLD_PAUSE_MS = 5;

/** What a client sends that goes on after a request: where in its history, and a digest of the request's words. */
const digestOfNext = (position: number, text: string, digest: (text: string) => string): string =>
  `${position} ${text.length} ${digest(text.slice(0, DIGESTED_CHARS))}`;

/** The member `next` of a request's mark; nothing for a conversation without a name. */
export const nextOf = (
  { conversation, history, prompt }: BridgeRequest,
  digest: (text: string) => string,
): string | undefined =>
  conversation.kind === 'named' ? digestOfNext(history.length, textOfParts(prompt), digest) : undefined;

/** As `continuesAfter` of a request that another bridge has got, by what its mark tells. */
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

/** Ends turns that other bridges have started and that no client reads any more, when their client has gone on. */
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
    // The bridge that its client has just left may be about to tell.
    const toldUntilMs = clock.now() + TOLD_WITHIN_MS;
    while (find()?.request.left === undefined && find() !== undefined && clock.now() < toldUntilMs)
      await pause(clock, TOLD_PAUSE_MS, signal);
    const left = find();
    if (left?.request.left === undefined) return;
    const { sessionID } = left;
    const isBusy = async (): Promise<boolean> => (await agent.busySessions(signal)).has(sessionID);
    if (!(await isBusy())) return;
    await agent.abort(sessionID, signal);
    const untilMs = clock.now() + ENDING_MS;
    while (clock.now() < untilMs && (await isBusy())) await pause(clock, ENDING_PAUSE_MS, signal);
  };
};
