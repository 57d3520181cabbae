import type { MessagePage, SessionDetail, ShownMessage } from '../../api/session-types.ts';
import { readParts, type ShownPart } from '../../format/message-parts.ts';
import { api } from '../../state/visitor.ts';

/** A session of one of the agent servers. */
export type SessionAddress = { readonly agent: number; readonly id: string };

const ASK_EVERY_MS = 1000;
const MESSAGES = 60;

/** The parts of the answers to the newest prompt. */
const newestAnswer = (messages: readonly ShownMessage[]): readonly ShownPart[] => {
  const prompt = messages.findLastIndex(({ info }) => info.role === 'user');
  return messages.slice(prompt + 1).flatMap(({ parts }) => readParts(parts));
};

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

/** Shows the newest answer of a session until nothing runs in it any more. Rejects with the signal's reason when that aborts. */
export const followTurn = async (
  { agent, id }: SessionAddress,
  show: (parts: readonly ShownPart[]) => void,
  signal: AbortSignal,
): Promise<void> => {
  const path = `/api/sessions/${agent}/${encodeURIComponent(id)}`;
  for (;;) {
    // The state first: what is read after a session came to rest is all of it.
    const { status } = await api.get<SessionDetail>(path, signal);
    const { messages } = await api.get<MessagePage>(`${path}/messages?limit=${MESSAGES}`, signal);
    show(newestAnswer(messages));
    if (status !== 'busy') return;
    await pause(ASK_EVERY_MS, signal);
  }
};
