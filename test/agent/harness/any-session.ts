import fc from 'fast-check';
import type { Ids } from '../../../src/agent/protocol/ids.ts';
import type { Message, Part, Session } from '../../../src/agent/protocol/types.ts';
import type { DocumentLine } from '../../../src/agent/session/document.ts';
import { cost, message, named, text, time, tokens } from './any-message.ts';

type KeptMessage = {
  readonly info: Message;
  readonly parts: readonly Part[];
  readonly outputs: readonly { readonly partID: string; readonly text: string }[];
};

/** A session with all that belongs to it. */
export type KeptSession = { readonly info: Session; readonly messages: readonly KeptMessage[] };

type Changeable = {
  readonly info: Session;
  readonly messages: (Omit<KeptMessage, 'parts'> & { readonly parts: Part[] })[];
};

/** The document that these sessions make. */
export const linesOf = (sessions: readonly KeptSession[]): readonly string[] => {
  const listed = sessions.map(({ info, messages }) => ({
    id: info.id,
    messages: messages.map((kept) => kept.info.id),
  }));
  const lines = sessions.flatMap(({ info, messages }): DocumentLine[] => [
    { kind: 'session', session: info },
    ...messages.flatMap(({ info: message, parts, outputs }): DocumentLine[] => [
      { kind: 'message', message },
      ...parts.flatMap((held): DocumentLine[] => [
        { kind: 'part', part: held },
        ...outputs.filter(({ partID }) => partID === held.id).map((output) => ({ kind: 'output' as const, ...output })),
      ]),
    ]),
  ]);
  const contents = { format: 'gatehouse-session', version: 1, sessions: listed };
  return [contents, ...lines, { kind: 'end' }].map((line) => JSON.stringify(line));
};

const session: fc.Arbitrary<Omit<Session, 'id' | 'parentID'>> = fc.record(
  {
    slug: text,
    projectID: text,
    directory: text,
    title: text.map((given) => given.replaceAll('\0', '').slice(0, 500)),
    agent: text,
    model: fc.record({ providerID: text, id: text, variant: text }, { requiredKeys: ['providerID', 'id'] }),
    version: text,
    metadata: named,
    permission: fc.array(
      fc.record({
        permission: text,
        pattern: text,
        action: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const),
      }),
      { maxLength: 3 },
    ),
    cost,
    tokens,
    time: fc.record(
      { created: time, updated: time, compacting: time, archived: time },
      { requiredKeys: ['created', 'updated'] },
    ),
  },
  { requiredKeys: ['slug', 'projectID', 'directory', 'title', 'version', 'cost', 'tokens', 'time'] },
);

/** Plans of sessions, of which each but the first hangs under one before it. */
const plan = fc.array(
  fc.record({ info: session, messages: fc.array(message, { maxLength: 3 }), parent: fc.nat(), hasTask: fc.boolean() }),
  { minLength: 1, maxLength: 4 },
);

type Plan = typeof plan extends fc.Arbitrary<infer Held> ? Held : never;

const keptOf = (
  { info, parts }: Plan[number]['messages'][number],
  { ids, sessionID, userID }: { readonly ids: Ids; readonly sessionID: string; readonly userID: string },
): Changeable['messages'][number] => {
  const id = ids('message');
  const placed = { id, sessionID };
  const placedInfo: Message =
    info.role === 'user' ? { ...info, ...placed } : { ...info, ...placed, parentID: userID === '' ? id : userID };
  const made = parts.map(({ body: held, output }) => {
    const whole: Part = { ...held, id: ids('part'), sessionID, messageID: id };
    return { whole, output };
  });
  return {
    info: placedInfo,
    parts: made.map(({ whole }) => whole),
    outputs: made.flatMap(({ whole, output }) => (output === null ? [] : [{ partID: whole.id, text: output }])),
  };
};

/** A call of the tool that hands work on, as it is left in the message that made it. */
const taskPart = (ids: Ids, { id, sessionID }: Message, taskID: string): Part => ({
  id: ids('part'),
  sessionID,
  messageID: id,
  type: 'tool',
  callID: 'call_task',
  tool: 'task',
  state: {
    status: 'completed',
    input: {},
    output: 'done',
    title: 'task',
    metadata: { sessionId: taskID, truncated: false },
    time: { start: 1, end: 2 },
  },
});

/** Sessions of every shape that a store may hold, under ids made by `ids`. */
export const anySessions = (ids: Ids): fc.Arbitrary<readonly KeptSession[]> =>
  plan.map((planned) => {
    const sessions: Changeable[] = [];
    for (const [index, { info, messages, parent, hasTask }] of planned.entries()) {
      const id = ids('session');
      const above = sessions[parent % Math.max(1, index)];
      let userID = '';
      const kept = messages.map((held) => {
        const made = keptOf(held, { ids, sessionID: id, userID });
        if (held.info.role === 'user') userID = made.info.id;
        return made;
      });
      const caller = above?.messages.at(-1);
      if (hasTask && caller !== undefined) caller.parts.push(taskPart(ids, caller.info, id));
      sessions.push({
        info: { ...info, id, ...(above === undefined ? {} : { parentID: above.info.id }) },
        messages: kept,
      });
    }
    return sessions.map(({ info, messages }) => ({
      info,
      messages: messages.map((kept) => ({
        ...kept,
        parts: kept.parts.toSorted((left, right) => (left.id < right.id ? -1 : 1)),
      })),
    }));
  });
