import type { MessagePage, SessionDetail } from '../../api/session-types.ts';
import { api } from '../../state/visitor.ts';
import { type SessionTurn, sessionTurns } from './session-turns.ts';

/** A session of one of the agent servers. */
export type SessionAddress = { readonly agent: number; readonly id: string };

const ASK_EVERY_MS = 1000;
/** Of a session; each has a message at least. */
export const MOST_TURNS = 60;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });

/** The path of a conversation at the console's API. */
export const conversationPath = (id: string): string => `/api/chat/conversations/${encodeURIComponent(id)}`;

type Found = { readonly isAnswering: boolean; readonly session?: SessionDetail };

/** The session of a conversation, once it is there with its newest message. Throws `ApiError` 404 where there is none. */
export const findSession = async (id: string, signal: AbortSignal): Promise<SessionAddress> => {
  for (;;) {
    const { isAnswering, session } = await api.get<Found>(conversationPath(id), signal);
    if (session !== undefined && (session.status === 'busy' || !isAnswering))
      return { agent: session.agent, id: session.id };
    await pause(ASK_EVERY_MS, signal);
  }
};

/**
 * Shows the newest turns of a session, the oldest first, until nothing runs in it any more; `isWhole` where none is before them.
 * Rejects with the signal's reason when that aborts.
 */
export const followSession = async (
  { agent, id }: SessionAddress,
  show: (turns: readonly SessionTurn[], isWhole: boolean) => void,
  signal: AbortSignal,
): Promise<void> => {
  const path = `/api/sessions/${agent}/${encodeURIComponent(id)}`;
  for (;;) {
    // The state first: what is read after a session came to rest is all of it.
    const { status } = await api.get<SessionDetail>(path, signal);
    const { messages, next } = await api.get<MessagePage>(`${path}/messages?limit=${MOST_TURNS}`, signal);
    show(sessionTurns(messages), next === undefined);
    if (status !== 'busy') return;
    await pause(ASK_EVERY_MS, signal);
  }
};
