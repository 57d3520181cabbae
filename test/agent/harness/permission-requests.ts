import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import type { PermissionRequest } from '../../../src/agent/protocol/permissions.ts';
import type { AssistantMessage, Part, TextPart, ToolPart } from '../../../src/agent/protocol/types.ts';

import type { MessageWithParts, Store } from '../../../src/agent/store/store.ts';
import { type AgentWorld, prompt } from './world.ts';

/** What a prompt is answered with. */
export type Answer = { readonly info: AssistantMessage; readonly parts: readonly Part[] };

/** Prompts a session and waits for the answer. */
export const ask = async (
  world: AgentWorld,
  sessionID: string,
  text = 'hello',
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> => (await world.post(`/session/${sessionID}/message`, prompt(text, more))) as Answer;

/** The same while somebody listens to events, for whom the answer is held back a moment. */
export const askAndRead = async (world: AgentWorld, sessionID: string): Promise<Answer> => {
  let isOver = false;
  const answer = ask(world, sessionID).finally(() => {
    isOver = true;
  });
  await until(world, () => isOver);
  return answer;
};

/** Moves the clock on, little by little, until something is so. */
export const until = async (world: AgentWorld, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let count = 0; count < 1000; count++) {
    if (await isSo()) return;
    await world.clock.advance(5);
  }
  throw new Error('It never came to be');
};

export const asksOf = async (world: AgentWorld): Promise<readonly PermissionRequest[]> =>
  (await world.get('/permission')) as readonly PermissionRequest[];

/** The questions, once there are so many. */
export const asksWhen = async (world: AgentWorld, count: number): Promise<readonly PermissionRequest[]> => {
  await until(world, async () => (await asksOf(world)).length === count);
  return asksOf(world);
};

export const reply = (world: AgentWorld, asked: PermissionRequest | undefined, given: unknown): Promise<unknown> =>
  world.post(`/permission/${asked?.id}/reply`, given);

export const messagesOf = async (world: AgentWorld, sessionID: string): Promise<readonly MessageWithParts[]> =>
  (await world.get(`/session/${sessionID}/message`)) as readonly MessageWithParts[];

export const answersIn = (messages: readonly MessageWithParts[]): readonly Answer[] =>
  messages.filter((reported): reported is Answer => reported.info.role === 'assistant');

/** The tool parts of a session, in order. */
export const callsOf = async (world: AgentWorld, sessionID: string): Promise<readonly ToolPart[]> =>
  (await messagesOf(world, sessionID)).flatMap(({ parts }) => parts).filter((part) => part.type === 'tool');

export const textOf = ({ parts }: { readonly parts: readonly Part[] }): string =>
  parts
    .filter((part): part is TextPart => part.type === 'text')
    .map(({ text }) => text)
    .join('');

/** What a tool part says the model was told. */
export const outputOf = (part: ToolPart | undefined): string => {
  if (part?.state.status === 'completed') return part.state.output;
  return part?.state.status === 'error' ? part.state.error : `not ended: ${part?.state.status}`;
};

export const statuses = async (world: AgentWorld): Promise<unknown> => world.get('/session/status');

/** The events of one type. */
export const eventsOf = async <Type extends AgentEvent['type']>(
  world: AgentWorld,
  type: Type,
): Promise<readonly Extract<AgentEvent, { readonly type: Type }>[]> =>
  (await world.events()).filter((event): event is Extract<AgentEvent, { readonly type: Type }> => event.type === type);

/** Everything that a store holds, for comparing it before and after. */
export const contentsOf = async (store: Store): Promise<unknown> => {
  const sessions = await store.sessions({});
  const messages = await Promise.all(sessions.map(({ id }) => store.messages(id)));
  return { sessions, messages, events: await store.events({ afterID: '', limit: 100_000 }) };
};

/** Whether nothing runs, waits, asks or is unfinished. */
export const isQuiet = async (world: AgentWorld): Promise<boolean> =>
  JSON.stringify([await statuses(world), await asksOf(world), await world.store.unfinished()]) === '[{},[],[]]';
