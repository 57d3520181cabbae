import { sendWithClaim } from '../../../src/bridge/agent/prompt-claim.ts';
import type { MessageRecord, PartRecord, PermissionRecord, SessionRecord } from '../../../src/bridge/agent/schema.ts';
import type {
  AgentClient,
  AgentEventStream,
  AgentEventUpdate,
  AgentModels,
  AgentPermissionReply,
  Prompt,
} from '../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../src/bridge/errors.ts';
import { untilAborted } from '../../../src/core/async.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { Fault } from '../../../src/core/fault.ts';
import {
  metadataRevision,
  PROMPT_METADATA_FEATURE,
  requireRevision,
} from '../../../src/core/http/metadata-revision.ts';

type FakeSession = {
  readonly id: string;
  readonly title: string;
  metadata: Readonly<Record<string, unknown>>;
  readonly time: { created: number; updated: number };
  readonly messages: MessageRecord[];
};

/** An agent in memory. It answers every prompt with the same words unless told otherwise. */
export type FakeAgent = {
  readonly agent: AgentClient;
  /** What it says of its sessions, each time a little later. It is always open. */
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'isOpen' | 'untilOpen'>;
  /** Keeps events back from now on; the returned function sends them. */
  readonly holdEvents: () => () => void;
  /** Its sessions, in the order in which they were made. */
  readonly sessions: ReadonlyMap<string, FakeSession>;
  readonly calls: (method: keyof AgentClient) => number;
  readonly answers: { readonly id: string; readonly answer: AgentPermissionReply }[];
  readonly asks: PermissionRecord[];
  models: AgentModels;
  /** What it answers; a promise keeps the session busy until it is settled or the turn is aborted. */
  answer: (sessionID: string, prompt: Prompt) => string | Promise<string>;
  /** The tools that a prompt makes it call before it answers. */
  tools: (prompt: Prompt) => readonly string[];
  /** Makes the next calls of a method fail, before anything is done. */
  readonly failNext: (method: keyof AgentClient, detail: BridgeFault, times?: number) => void;
  /** Keeps calls of a method waiting from now on; the returned function lets them through. */
  readonly hold: (method: keyof AgentClient) => () => void;
  /** Puts a message of a user into a session as if somebody else had asked. */
  readonly addPrompt: (sessionID: string, parts: Prompt['parts']) => string;
  readonly forget: (sessionID: string) => void;
};

const ID_CHARS = 26;
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

const aborted = { name: 'MessageAbortedError', data: { message: 'Aborted' } };

export const createFakeAgent = (clock: Clock): FakeAgent => {
  const sessions = new Map<string, FakeSession>();
  const counts = new Map<keyof AgentClient, number>();
  const faults = new Map<keyof AgentClient, BridgeFault[]>();
  const gates = new Map<keyof AgentClient, Promise<void>>();
  const running = new Map<string, () => void>();
  let made = 0;
  let time = 0;

  const listeners = new Set<(update: AgentEventUpdate) => void>();
  let eventGate = Promise.resolve();
  const publish = (type: 'session.created' | 'session.updated' | 'session.deleted', session: FakeSession): void => {
    const update: AgentEventUpdate = { kind: 'event', event: { type, properties: { info: recordOf(session) } } };
    void eventGate.then(() => {
      for (const listener of listeners) listener(update);
    });
  };

  const newID = (prefix: string): string => {
    made += 1;
    return `${prefix}_${String(made).padStart(ID_CHARS, '0')}`;
  };
  /** No two things happen at the same time. */
  const now = (): number => {
    time = Math.max(time + 1, clock.now());
    return time;
  };
  const notFound = () => new Fault({ kind: 'not-found', hint: 'The agent server knows no such thing' });
  const sessionAt = (id: string): FakeSession => {
    const session = sessions.get(id);
    if (session === undefined) throw notFound();
    return session;
  };
  const recordOf = ({ id, metadata, time: at }: FakeSession): SessionRecord =>
    structuredClone({ id, metadata: { ...metadata }, time: at });
  const called = async (method: keyof AgentClient, signal: AbortSignal): Promise<void> => {
    counts.set(method, (counts.get(method) ?? 0) + 1);
    await untilAborted(gates.get(method) ?? Promise.resolve(), signal);
    const fault = faults.get(method)?.shift();
    if (fault !== undefined) throw new Fault(fault);
  };
  const partsOf = (parts: Prompt['parts'], sessionID: string, messageID: string): PartRecord[] =>
    parts.map((part) => {
      const placed = { id: newID('prt'), sessionID, messageID };
      if (part.type === 'file') return { ...placed, type: 'other' };
      return {
        ...placed,
        type: 'text',
        text: part.text,
        synthetic: part.synthetic,
        time: undefined,
        ignored: undefined,
      };
    });
  const addPrompt = (sessionID: string, parts: Prompt['parts']): string => {
    const { messages, time: at } = sessionAt(sessionID);
    const id = newID('msg');
    messages.push({ info: { id, sessionID, role: 'user' }, parts: partsOf(parts, sessionID, id) });
    at.updated = now();
    return id;
  };
  const toolPart = (tool: string, sessionID: string, messageID: string): PartRecord => {
    const id = newID('prt');
    const state = { status: 'completed', input: {}, output: '' } as const;
    return { id, sessionID, messageID, type: 'tool', callID: id, tool, state };
  };
  const addAnswer = (
    sessionID: string,
    parentID: string,
    { text, tools }: { readonly text: string | undefined; readonly tools: readonly string[] },
  ): MessageRecord => {
    const { messages, time: at } = sessionAt(sessionID);
    const id = newID('msg');
    const end = { tokens: NO_TOKENS, finish: 'stop', summary: undefined };
    const answer: MessageRecord = {
      info: {
        ...{ id, sessionID, role: 'assistant', parentID, modelID: 'main', providerID: 'fake' },
        ...end,
        time: { created: now(), completed: now() },
        ...(text === undefined ? { error: aborted } : {}),
      },
      parts: [
        ...tools.map((tool) => toolPart(tool, sessionID, id)),
        ...partsOf([{ type: 'text', text: text ?? '' }], sessionID, id),
      ],
    };
    messages.push(answer);
    at.updated = now();
    return answer;
  };

  const fake: FakeAgent = {
    sessions,
    calls: (method) => counts.get(method) ?? 0,
    answers: [],
    asks: [],
    models: {
      models: [
        {
          providerID: 'fake',
          modelID: 'main',
          name: 'Main',
          variants: [],
          contextTokens: 0,
          adapter: undefined,
          media: [],
        },
      ],
      defaultModel: 'fake/main',
      smallModel: undefined,
    },
    answer: () => 'An answer.',
    tools: () => [],
    failNext(method, detail, times = 1) {
      faults.set(method, [...(faults.get(method) ?? []), ...Array.from({ length: times }, () => detail)]);
    },
    hold(method) {
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.set(method, promise);
      return () => {
        gates.delete(method);
        resolve();
      };
    },
    addPrompt,
    feed: {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      isOpen: () => true,
      untilOpen: async () => {},
    },
    holdEvents() {
      const { promise, resolve } = Promise.withResolvers<void>();
      eventGate = promise;
      return resolve;
    },
    forget: (sessionID) => void sessions.delete(sessionID),
    agent: {
      async models(signal) {
        await called('models', signal);
        return fake.models;
      },
      async createSession({ title, metadata }, signal) {
        await called('createSession', signal);
        const at = now();
        const session = { id: newID('ses'), title, metadata, time: { created: at, updated: at }, messages: [] };
        sessions.set(session.id, session);
        publish('session.created', session);
        return recordOf(session);
      },
      async session(id, signal) {
        await called('session', signal);
        return recordOf(sessionAt(id));
      },
      async sessions(limit, signal, updatedSinceMs = 0) {
        await called('sessions', signal);
        const updated = [...sessions.values()].filter(({ time: at }) => at.updated >= updatedSinceMs);
        const latest = updated.sort((left, right) => right.time.updated - left.time.updated);
        return latest.slice(0, limit).map(recordOf);
      },
      async setMetadata(id, metadata, signal, ifRevision) {
        await called('setMetadata', signal);
        const session = sessionAt(id);
        if (ifRevision !== undefined && metadataRevision(session.metadata) !== ifRevision) return 'outdated';
        session.metadata = structuredClone({ ...metadata });
        session.time.updated = now();
        publish('session.updated', session);
        return 'stored';
      },
      async deleteMessage(sessionID, messageID, signal) {
        await called('deleteMessage', signal);
        const { messages } = sessionAt(sessionID);
        const at = messages.findIndex(({ info }) => info.id === messageID);
        if (at === -1) throw notFound();
        messages.splice(at, 1);
      },
      async deleteSession(id, signal) {
        await called('deleteSession', signal);
        const session = sessionAt(id);
        sessions.delete(id);
        publish('session.deleted', session);
      },
      prompt: (sessionID, prompt, signal) =>
        sendWithClaim(prompt.claim, async ({ onHead }) => {
          await called('prompt', signal);
          if (prompt.claim !== undefined) {
            const { metadata, ifRevision } = prompt.claim;
            const session = sessionAt(sessionID);
            requireRevision(String(ifRevision), session.metadata);
            session.metadata = structuredClone({ ...metadata });
            publish('session.updated', session);
          }
          const promptID = addPrompt(sessionID, prompt.parts);
          onHead?.({ status: 200, header: () => '' });
          const stop = Promise.withResolvers<undefined>();
          running.set(sessionID, () => stop.resolve(undefined));
          try {
            const answered = Promise.resolve(fake.answer(sessionID, prompt));
            const text = await untilAborted(Promise.race([answered, stop.promise]), signal);
            return addAnswer(sessionID, promptID, { text, tools: fake.tools(prompt) });
          } finally {
            running.delete(sessionID);
          }
        }),
      async message(sessionID, messageID, signal) {
        await called('message', signal);
        const found = sessionAt(sessionID).messages.find(({ info }) => info.id === messageID);
        if (found === undefined) throw notFound();
        return structuredClone(found);
      },
      async messages(sessionID, signal) {
        await called('messages', signal);
        return structuredClone(sessionAt(sessionID).messages);
      },
      async busySessions(signal) {
        await called('busySessions', signal);
        return new Set(running.keys());
      },
      async abort(sessionID, signal) {
        await called('abort', signal);
        running.get(sessionID)?.();
      },
      async permissionRequests(signal) {
        await called('permissionRequests', signal);
        return [...fake.asks];
      },
      async answerPermission(id, answer, signal) {
        await called('answerPermission', signal);
        const place = fake.asks.findIndex((ask) => ask.id === id);
        if (place === -1) throw notFound();
        fake.asks.splice(place, 1);
        fake.answers.push({ id, answer });
      },
      async features(signal) {
        await called('features', signal);
        return [PROMPT_METADATA_FEATURE];
      },
      async forkSession(_id, _given, signal) {
        await called('forkSession', signal);
        throw notFound();
      },
      async giveToolResults(_sessionID, _answer, signal) {
        await called('giveToolResults', signal);
        throw notFound();
      },
      async rejectQuestion(_id, signal) {
        await called('rejectQuestion', signal);
      },
    },
  };
  return fake;
};
