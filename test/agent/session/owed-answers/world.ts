import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { AssistantMessage, Session, UserMessage } from '../../../../src/agent/protocol/types.ts';
import type { Store, StoreChange } from '../../../../src/agent/store/store.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { answersIn, isQuiet, messagesOf, until } from '../../harness/permission-requests.ts';
import type { AgentWorld } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { sessionOf, textPart, userMessage } from '../../store/samples.ts';

/** The session of every prompt here. */
export const SESSION = 'ses_000000000000aaaaaaaaaaaaaa';

/** The id of a message, in the order of its place. */
export const messageID = (place: number): string => `msg_00000000000${place}aaaaaaaaaaaaaa`;

export const MODEL = { providerID: 'demo', modelID: 'main' };

/** A store with ids of its own. */
export const emptyStore = (): Store =>
  createMemoryStore({ ids: createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count))) });

/** A prompt as it is stored when it was accepted, with what is known of its answer. */
export const promptChanges = (
  place: number,
  state: 'owed' | 'begun',
  more: Partial<UserMessage> = {},
): readonly StoreChange[] => {
  const time = { created: createFakeClock().now() };
  const user = { ...userMessage(messageID(place), SESSION), model: MODEL, time, ...more };
  const part = { id: `prt_00000000000${place}aaaaaaaaaaaaaa`, sessionID: SESSION, messageID: user.id };
  return [
    { kind: 'message', message: user },
    { kind: 'part', part: textPart(part, `prompt ${place}`) },
    { kind: 'answer', sessionID: SESSION, promptID: user.id, state },
  ];
};

/** The change that stores the session. */
export const sessionChange = (more: Partial<Session> = {}): StoreChange => ({
  kind: 'session',
  session: sessionOf(SESSION, { title: 'Mine', ...more }),
});

/** Waits until no session works and no answer is owed. */
export const untilQuiet = (world: AgentWorld): Promise<void> =>
  until(world, async () => (await isQuiet(world)) && (await world.store.owed()).length === 0);

/** The answers of a session, as they are stored. */
export const answersOf = async (world: AgentWorld, sessionID = SESSION): Promise<readonly AssistantMessage[]> =>
  answersIn(await messagesOf(world, sessionID)).map(({ info }) => info);
