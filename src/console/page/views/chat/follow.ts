import type { OwnConversation, SessionDetail } from '../../../protocol.ts';
import { ApiError } from '../../api/request.ts';
import type { MessagePage, ShownMessage } from '../../api/types.ts';
import { api } from '../../state/visitor.ts';
import { type SessionTurn, sessionTurns } from './session-turns.ts';

/** A session of one of the agent servers. */
export type SessionAddress = { readonly agent: number; readonly id: string };

const ASK_EVERY_MS = 1000;
/** So many questions in a row may fail: a server that restarts, or a network that is away, does not end an answer. */
const FAILED_AT_MOST = 30;
/** Of a session that is opened; each has a message at least. */
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

/** Until the next question. A request may wait for hours, and a hidden page is not seen. */
const untilNext = async (signal: AbortSignal): Promise<void> => {
  do await pause(ASK_EVERY_MS, signal);
  while (document.visibilityState === 'hidden');
};

/** The path of a conversation at the console's API. */
export const conversationPath = (id: string): string => `/api/chat/conversations/${encodeURIComponent(id)}`;

/** The session of a conversation, once it is there with its newest message. Throws `ApiError` 404 where there is none. */
export const findSession = async (id: string, signal: AbortSignal): Promise<SessionAddress> => {
  for (;;) {
    const { isAnswering, session } = await api.get<OwnConversation>(conversationPath(id), signal);
    if (session !== undefined && (session.status === 'busy' || !isAnswering))
      return { agent: session.agent, id: session.id };
    await untilNext(signal);
  }
};

type ReadTurns = { readonly turns: readonly SessionTurn[]; readonly isWhole: boolean };

/**
 * Reads the newest messages of a session, and keeps those that it has read before. An answer may have more messages than a page: those
 * before are read until its prompt is there.
 */
const createTurnReader = (path: string): ((signal: AbortSignal) => Promise<ReadTurns>) => {
  let known: readonly ShownMessage[] = [];
  /** Leads to the messages before those. */
  let earlier: string | undefined;
  const readPage = (before: string, signal: AbortSignal): Promise<MessagePage> =>
    api.get<MessagePage>(`${path}/messages?limit=${MOST_TURNS}${before}`, signal);
  return async (signal) => {
    const { messages, next } = await readPage('', signal);
    const first = messages[0]?.info.id ?? '';
    if (known.some(({ info }) => info.id === first))
      known = [...known.filter(({ info }) => info.id < first), ...messages];
    else {
      known = messages;
      earlier = next;
    }
    while (earlier !== undefined && sessionTurns(known).length === 0) {
      const page = await readPage(`&before=${encodeURIComponent(earlier)}`, signal);
      known = [...page.messages, ...known];
      earlier = page.next;
    }
    return { turns: sessionTurns(known), isWhole: earlier === undefined };
  };
};

/** Whether the next question may be answered. */
const mayPass = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 502);

/**
 * Shows the newest turns of a session, the oldest first, until nothing runs in it any more or `show` returns false; `isWhole` where none
 * is before them. Rejects with the signal's reason when that aborts.
 */
export const followSession = async (
  { agent, id }: SessionAddress,
  show: (turns: readonly SessionTurn[], isWhole: boolean) => boolean,
  signal: AbortSignal,
): Promise<void> => {
  const path = `/api/sessions/${agent}/${encodeURIComponent(id)}`;
  const read = createTurnReader(path);
  let failed = 0;
  for (;;) {
    try {
      // The state first: what is read after a session came to rest is all of it.
      const { status } = await api.get<SessionDetail>(path, signal);
      const { turns, isWhole } = await read(signal);
      failed = 0;
      if (!show(turns, isWhole) || status !== 'busy') return;
    } catch (error) {
      failed += 1;
      if (!mayPass(error) || failed > FAILED_AT_MOST) throw error;
    }
    await untilNext(signal);
  }
};
