import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { GATEHOUSE_METADATA_KEY } from '../../core/http/conversation-metadata.ts';
import type { CallAgent } from './calls.ts';
import { MessageRecord, PermissionRecord, SessionRecord } from './schema.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** A user message for the agent, with the settings of its turn. */
export type Prompt = {
  readonly parts: readonly (
    | { readonly type: 'text'; readonly text: string; readonly synthetic?: boolean }
    | { readonly type: 'file'; readonly mime: string; readonly url: string; readonly filename?: string }
  )[];
  readonly model?: { readonly providerID: string; readonly modelID: string } | undefined;
  readonly variant?: string | undefined;
  readonly agent?: string | undefined;
  readonly system?: string;
  /** Whether the model may call tools. */
  readonly hasTools: boolean;
  /** The answer has to be one JSON value. */
  readonly format?: Readonly<Record<string, unknown>> | undefined;
  /** It is stored for later turns, and not answered. The call resolves to the stored message. */
  readonly isContext?: boolean;
  /** By which it is known again among the messages of its session. */
  readonly token?: string;
};

/** The answer to a permission request. */
export type RequestReply = { readonly reply: 'once' | 'reject'; readonly message?: string };

/** Sessions at a server with the API of OpenCode 1.x. Each call faults with `not-found` where there is no such thing. */
export type SessionClient = {
  readonly createSession: (given: { title: string; metadata: Metadata }, signal: AbortSignal) => Promise<SessionRecord>;
  /** A copy of a session with the messages before one of them, or with all. */
  readonly forkSession: (
    id: string,
    given: { readonly before: string | undefined; readonly metadata: Metadata },
    signal: AbortSignal,
  ) => Promise<SessionRecord>;
  readonly session: (id: string, signal: AbortSignal) => Promise<SessionRecord>;
  /** Without child sessions. */
  readonly sessions: (limit: number, signal: AbortSignal) => Promise<readonly SessionRecord[]>;
  readonly setMetadata: (id: string, metadata: Metadata, signal: AbortSignal) => Promise<void>;
  /** OpenCode goes on with the turn of a session that is deleted: abort it before. */
  readonly deleteSession: (id: string, signal: AbortSignal) => Promise<void>;
  /** Sends a prompt and waits for the whole turn. Resolves to its last message. `headers`: of its trace. */
  readonly prompt: (
    sessionID: string,
    prompt: Prompt,
    signal: AbortSignal,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<MessageRecord>;
  readonly message: (sessionID: string, messageID: string, signal: AbortSignal) => Promise<MessageRecord>;
  readonly deleteMessage: (sessionID: string, messageID: string, signal: AbortSignal) => Promise<void>;
  /** All messages, in order. */
  readonly messages: (sessionID: string, signal: AbortSignal) => Promise<readonly MessageRecord[]>;
  /** Whether a session runs a turn. */
  readonly isBusy: (sessionID: string, signal: AbortSignal) => Promise<boolean>;
  /** OpenCode aborts whatever runs, our server only the turn of that prompt. */
  readonly abort: (sessionID: string, promptID: string | undefined, signal: AbortSignal) => Promise<void>;
  readonly permissionRequests: (signal: AbortSignal) => Promise<readonly PermissionRecord[]>;
  readonly answerPermission: (id: string, answer: RequestReply, signal: AbortSignal) => Promise<void>;
  /** Rejects a question that is no permission request. */
  readonly rejectQuestion: (id: string, signal: AbortSignal) => Promise<void>;
};

/** Denies the tools that need a person at the agent's own user interface, as OpenCode's own `run` does. */
const HEADLESS_RULES = ['question', 'plan_enter', 'plan_exit'].map((permission) => ({
  permission,
  pattern: '*',
  action: 'deny',
}));

/** Who decides, as our agent keeps it. */
const DECIDED_BY = 'a client of the bridge';

const Done = v.unknown();
const Statuses = v.record(v.string(), v.object({ type: v.string() }));

/** An id as a segment of a path. One that cannot be the agent's is refused: it could lead to another path. */
const segmentOf = (id: string): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  throw new Fault({ kind: 'not-found', hint: 'The agent server knows no such thing' });
};

/** OpenCode keeps the metadata of texts alone. */
const withToken = (parts: Prompt['parts'], token: string) => {
  const marked = parts.find(({ type }) => type === 'text') ?? parts[0];
  return parts.map((part) => (part === marked ? { ...part, metadata: { [GATEHOUSE_METADATA_KEY]: { token } } } : part));
};

const bodyOf = ({ parts, model, variant, agent, system = '', hasTools, format, isContext, token }: Prompt) => ({
  parts: token === undefined ? parts : withToken(parts, token),
  ...(isContext === true ? { noReply: true } : {}),
  ...(model === undefined ? {} : { model }),
  ...(variant === undefined ? {} : { variant }),
  ...(agent === undefined ? {} : { agent }),
  ...(system === '' ? {} : { system }),
  ...(format === undefined ? {} : { format }),
  // At our server it holds for this message, at OpenCode's for the session from then on.
  ...(hasTools ? {} : { tools: { '*': false } }),
});

/** Calls to the agent about its sessions. */
export const createSessionClient = (call: CallAgent): SessionClient => {
  const sessionPath = (id: string, rest = ''): string => `/session/${segmentOf(id)}${rest}`;
  const messagePath = (id: string, messageID: string) => sessionPath(id, `/message/${segmentOf(messageID)}`);
  const post = async (path: string, body: unknown, signal: AbortSignal): Promise<void> =>
    void (await call({ method: 'POST', path, schema: Done, body }, signal));
  const patch = (id: string, body: unknown, signal: AbortSignal): Promise<SessionRecord> =>
    call({ method: 'PATCH', path: sessionPath(id), schema: SessionRecord, body }, signal);
  return {
    createSession: (given, signal) =>
      call(
        { method: 'POST', path: '/session', schema: SessionRecord, body: { ...given, permission: HEADLESS_RULES } },
        signal,
      ),
    async forkSession(id, { before, metadata }, signal) {
      const body = before === undefined ? {} : { messageID: before };
      const made = await call({ method: 'POST', path: sessionPath(id, '/fork'), schema: SessionRecord, body }, signal);
      // OpenCode copies neither metadata nor rules.
      return patch(made.id, { metadata, permission: HEADLESS_RULES }, signal);
    },
    session: (id, signal) => call({ method: 'GET', path: sessionPath(id), schema: SessionRecord }, signal),
    async sessions(limit, signal) {
      const query = { roots: 'true', limit: String(limit) };
      const found = await call({ method: 'GET', path: '/session', query, schema: v.array(SessionRecord) }, signal);
      return found.filter(({ parentID }) => parentID === undefined).slice(0, limit);
    },
    setMetadata: async (id, metadata, signal) => void (await patch(id, { metadata }, signal)),
    deleteSession: async (id, signal) =>
      void (await call({ method: 'DELETE', path: sessionPath(id), schema: Done }, signal)),
    prompt: (id, prompt, signal, headers = {}) => {
      const path = sessionPath(id, '/message');
      const isPrompt = prompt.isContext !== true;
      return call({ method: 'POST', path, schema: MessageRecord, body: bodyOf(prompt), isPrompt, headers }, signal);
    },
    message: (id, messageID, signal) =>
      call({ method: 'GET', path: messagePath(id, messageID), schema: MessageRecord }, signal),
    deleteMessage: async (id, messageID, signal) =>
      void (await call({ method: 'DELETE', path: messagePath(id, messageID), schema: Done }, signal)),
    messages: (id, signal) =>
      call({ method: 'GET', path: sessionPath(id, '/message'), schema: v.array(MessageRecord) }, signal),
    async isBusy(id, signal) {
      const statuses = await call({ method: 'GET', path: '/session/status', schema: Statuses }, signal);
      return (statuses[id]?.type ?? 'idle') !== 'idle';
    },
    async abort(id, promptID, signal) {
      const query = promptID === undefined ? {} : { prompt: promptID };
      await call({ method: 'POST', path: sessionPath(id, '/abort'), query, schema: Done, isRepeatable: true }, signal);
    },
    permissionRequests: (signal) =>
      call({ method: 'GET', path: '/permission', schema: v.array(PermissionRecord) }, signal),
    answerPermission: (id, answer, signal) =>
      post(`/permission/${segmentOf(id)}/reply`, { ...answer, by: DECIDED_BY }, signal),
    rejectQuestion: (id, signal) => post(`/question/${segmentOf(id)}/reject`, {}, signal),
  };
};
