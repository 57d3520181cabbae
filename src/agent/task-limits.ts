import type { KnownAgent } from './agents/catalog.ts';
import type { Message, UserMessage } from './message.ts';
import { isAbout } from './permission-rules.ts';
import type { Rule, Session } from './session.ts';
import type { Store } from './store/store.ts';
import type { CallContext } from './tools/tool.ts';

/** The name of the tool that hands on work. */
export const TASK = 'task';

/** The prompt that the turn answers in which a task is handed on. */
export const promptOf = async (
  store: Pick<Store, 'message'>,
  { sessionID, messageID }: CallContext,
): Promise<UserMessage | undefined> => {
  const infoOf = async (id: string): Promise<Message | undefined> => (await store.message(sessionID, id))?.info;
  const answer = await infoOf(messageID);
  const user = answer?.role === 'assistant' ? await infoOf(answer.parentID) : undefined;
  return user?.role === 'user' ? user : undefined;
};

/**
 * What the session or the message forbids, or wants to be asked about: no other agent may do it for them either. Handing the
 * work on again is only for those whose rules speak of it.
 */
export const limitsOf = (session: Session, user: UserMessage | undefined, taker: KnownAgent): readonly Rule[] => {
  const switched = Object.entries(user?.tools ?? {}).filter(([, isOn]) => !isOn);
  const isSpokenOf = taker.rules.some((rule) => rule.permission !== '*' && isAbout(rule, TASK));
  const denied = [...switched.map(([permission]) => permission), ...(isSpokenOf ? [] : [TASK])];
  return [
    ...(session.permission ?? []).filter(({ action }) => action !== 'allow'),
    ...denied.map((permission): Rule => ({ permission, pattern: '*', action: 'deny' })),
  ];
};
