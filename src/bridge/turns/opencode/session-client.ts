import * as v from 'valibot';
import { GATEHOUSE_METADATA_KEY } from '../../../core/http/agent-api.ts';
import type { CallAgent } from '../../agent/calls.ts';
import { missing } from '../../agent/errors.ts';
import { Id, MessageRecord, PermissionRecord } from '../../agent/schema.ts';
import { DECIDER } from '../agent/wire.ts';
import type { SentPart, TurnDecision } from '../port.ts';

/** What we read of a session of the agent (OpenCode 1.x); everything else is left alone. */
export const SessionRecord = v.object({
  id: Id,
  parentID: v.optional(v.string()),
  metadata: v.optional(v.record(v.string(), v.unknown())),
  time: v.object({ created: v.number() }),
});
export type SessionRecord = v.InferOutput<typeof SessionRecord>;

type Metadata = Readonly<Record<string, unknown>>;

/** A user message for the agent, with the settings of its turn. */
export type Prompt = {
  readonly parts: readonly (SentPart & { readonly synthetic?: boolean })[];
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

/** Denies the tools that need a person at the agent's own user interface, as OpenCode's own `run` does. */
const HEADLESS_RULES = ['question', 'plan_enter', 'plan_exit'].map((permission) => ({
  permission,
  pattern: '*',
  action: 'deny',
}));

const Done = v.unknown();
const Statuses = v.record(v.string(), v.object({ type: v.string() }));

/** An id as a segment of a path. One that cannot be the agent's is refused: it could lead to another path. */
const segmentOf = (id: string): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  throw missing('The agent server knows no such thing');
};
const sessionPath = (id: string, rest = ''): string => `/session/${segmentOf(id)}${rest}`;
const messagePath = (id: string, messageID: string): string => sessionPath(id, `/message/${segmentOf(messageID)}`);

/** OpenCode keeps the metadata of texts alone. */
const withToken = (parts: Prompt['parts'], token: string) => {
  const marked = parts.find(({ type }) => type === 'text') ?? parts[0];
  return parts.map((part) => (part === marked ? { ...part, metadata: { [GATEHOUSE_METADATA_KEY]: { token } } } : part));
};

const bodyOf = ({ parts, system, hasTools, isContext, token, ...same }: Prompt) => ({
  ...same,
  parts: token === undefined ? parts : withToken(parts, token),
  noReply: isContext,
  system: system === '' ? undefined : system,
  // At our server it holds for this message, at OpenCode's for the session from then on.
  tools: hasTools ? undefined : { '*': false },
});

/** Calls to a server with the API of OpenCode 1.x about its sessions. Each faults with `not-found` where there is no such thing. */
export const createSessionClient = (call: CallAgent) => {
  const patch = (id: string, body: object, signal: AbortSignal): Promise<SessionRecord> =>
    call({ method: 'PATCH', path: sessionPath(id), schema: SessionRecord, body }, signal);
  return {
    createSession: (given: { readonly title: string; readonly metadata: Metadata }, signal: AbortSignal) => {
      const body = { ...given, permission: HEADLESS_RULES };
      return call({ method: 'POST', path: '/session', schema: SessionRecord, body }, signal);
    },
    /** A copy of a session with the messages before one of them, or with all. */
    async forkSession(id: string, before: string | undefined, metadata: Metadata, signal: AbortSignal) {
      const [path, body] = [sessionPath(id, '/fork'), { messageID: before }];
      const made = await call({ method: 'POST', path, schema: SessionRecord, body }, signal);
      // OpenCode copies neither metadata nor rules.
      return patch(made.id, { metadata, permission: HEADLESS_RULES }, signal);
    },
    session: (id: string, signal: AbortSignal) =>
      call({ method: 'GET', path: sessionPath(id), schema: SessionRecord }, signal),
    /** Without child sessions. */
    async sessions(limit: number, signal: AbortSignal) {
      const query = { roots: 'true', limit: String(limit) };
      const found = await call({ method: 'GET', path: '/session', query, schema: v.array(SessionRecord) }, signal);
      return found.filter(({ parentID }) => parentID === undefined).slice(0, limit);
    },
    async setMetadata(id: string, metadata: Metadata, signal: AbortSignal): Promise<void> {
      await patch(id, { metadata }, signal);
    },
    /** OpenCode goes on with the turn of a session that is deleted: abort it before. */
    async deleteSession(id: string, signal: AbortSignal): Promise<void> {
      await call({ method: 'DELETE', path: sessionPath(id), schema: Done }, signal);
    },
    /** Sends a prompt and waits for the whole turn. Resolves to its last message. `headers`: of its trace. */
    prompt: (
      sessionID: string,
      prompt: Prompt,
      signal: AbortSignal,
      headers: Readonly<Record<string, string>> = {},
    ) => {
      const [path, body] = [sessionPath(sessionID, '/message'), bodyOf(prompt)];
      const isPrompt = prompt.isContext !== true;
      return call({ method: 'POST', path, schema: MessageRecord, body, isPrompt, headers }, signal);
    },
    message: (sessionID: string, messageID: string, signal: AbortSignal) =>
      call({ method: 'GET', path: messagePath(sessionID, messageID), schema: MessageRecord }, signal),
    async deleteMessage(sessionID: string, messageID: string, signal: AbortSignal): Promise<void> {
      await call({ method: 'DELETE', path: messagePath(sessionID, messageID), schema: Done }, signal);
    },
    /** All messages, in order. */
    messages: (sessionID: string, signal: AbortSignal) =>
      call({ method: 'GET', path: sessionPath(sessionID, '/message'), schema: v.array(MessageRecord) }, signal),
    /** Whether a session runs a turn. */
    async isBusy(sessionID: string, signal: AbortSignal): Promise<boolean> {
      const statuses = await call({ method: 'GET', path: '/session/status', schema: Statuses }, signal);
      return (statuses[sessionID]?.type ?? 'idle') !== 'idle';
    },
    /** OpenCode aborts whatever runs, our server only the turn of that prompt. */
    async abort(sessionID: string, promptID: string | undefined, signal: AbortSignal): Promise<void> {
      const query = promptID === undefined ? {} : { prompt: promptID };
      const path = sessionPath(sessionID, '/abort');
      await call({ method: 'POST', path, query, schema: Done, isRepeatable: true }, signal);
    },
    permissionRequests: (signal: AbortSignal) =>
      call({ method: 'GET', path: '/permission', schema: v.array(PermissionRecord) }, signal),
    async answerPermission({ requestID, reply, message }: TurnDecision, signal: AbortSignal): Promise<void> {
      const [path, body] = [`/permission/${segmentOf(requestID)}/reply`, { reply, message, by: DECIDER }];
      await call({ method: 'POST', path, body, schema: Done }, signal);
    },
    /** Rejects a question that is no permission request. */
    async rejectQuestion(id: string, signal: AbortSignal): Promise<void> {
      await call({ method: 'POST', path: `/question/${segmentOf(id)}/reject`, body: {}, schema: Done }, signal);
    },
  };
};
export type SessionClient = ReturnType<typeof createSessionClient>;
