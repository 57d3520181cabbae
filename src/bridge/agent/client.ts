import * as v from 'valibot';
import { createDeadline, pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { HttpRequest, HttpResponse } from '../../core/http/client.ts';
import { IF_REVISION_HEADER, metadataRevision } from '../../core/http/metadata-revision.ts';
import { parseJsonValue, writeJson } from '../../core/json.ts';
import type { RunInSlices, Steps } from '../../core/time-slices.ts';
import { isNotFound, toConnectionFault, toRefusalFault, toUnusableAnswerFault } from './errors.ts';
import { ConfigRecord, ProvidersRecord, toAgentModels } from './models.ts';
import { sendWithClaim } from './prompt-claim.ts';
import { forkedSessionBody, promptBody, sessionBody, toolResultsBody } from './request-bodies.ts';
import { ClientToolCounts, HealthRecord, MessageRecord, PermissionRecord, SessionRecord } from './schema.ts';
import { type AgentHttpClient, type AgentLocation, createAgentUrls, type QueryParameters } from './servers.ts';
import { createTracedPost } from './traced-post.ts';
import type { AgentClient } from './types.ts';

type AgentClientOptions = AgentLocation & {
  readonly httpClient: AgentHttpClient;
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
  /** For every call but a prompt. */
  readonly callLimitMs?: number;
};

type ApiCall<Schema> = {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly schema: Schema;
  readonly query?: QueryParameters;
  readonly body?: unknown;
  readonly limitBytes?: number;
  readonly isPrompt?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** To do it twice makes no difference; true of everything but a POST unless given. */
  readonly isRepeatable?: boolean;
  readonly onHead?: HttpRequest['onHead'];
};

/** Who decides, as the agent keeps it: a client of a bridge has no name that the bridge could vouch for. */
const DECIDER = 'a client of the bridge';
const CALL_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024;
/** Messages hold whole files and the output of tools. */
const MESSAGES_LIMIT_BYTES = 64 * 1024 * 1024;
/** A session takes a few thousand bytes, and there may be ten thousand sessions. */
const SESSIONS_LIMIT_BYTES = 64 * 1024 * 1024;

const SuccessBody = v.literal(true);
const Statuses = v.record(v.string(), v.object({ type: v.string() }));

/** An id as a segment of a path. One that cannot be the agent's is refused: it could lead to another path. */
const pathSegment = (id: string): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  throw new Fault({ kind: 'not-found', hint: 'The agent server knows no such thing' });
};

const LONG_CHARS = 262_144;

/** The text through a schema; undefined when it is no JSON or does not fit. */
function* parsing<Schema extends v.GenericSchema>(
  schema: Schema,
  text: string,
): Steps<v.InferOutput<Schema> | undefined> {
  const isLong = text.length > LONG_CHARS;
  // Putting it together has taken its time, and parsing it takes as long again.
  if (isLong) yield;
  const value = parseJsonValue(text);
  if (isLong) yield;
  const result = v.safeParse(schema, value);
  return result.success ? result.output : undefined;
}

/**
 * The agent over HTTP. A prompt has no time limit: our server sends blanks meanwhile, OpenCode nothing at all, not
 * even headers. A prompt whose connection breaks after it was sent is `agent-failed` and must not be repeated.
 * OpenCode continues the turn of a session that is deleted, and lists the permission requests of one that was aborted: so abort
 * before deleting, and reject after aborting.
 */
export const createAgentClient = ({
  httpClient,
  clock,
  runInSlices,
  callLimitMs = CALL_LIMIT_MS,
  ...location
}: AgentClientOptions): AgentClient => {
  const { headers, urlOf } = createAgentUrls(location);

  const send = async (call: ApiCall<unknown>, signal: AbortSignal): Promise<HttpResponse> => {
    const { method, path, query, body, limitBytes = ANSWER_LIMIT_BYTES, isPrompt = false } = call;
    const { isRepeatable = method !== 'POST' } = call;
    const { onHead } = call;
    const request = { method, url: urlOf(path, query), signal, limitBytes, isPrompt, isRepeatable, onHead };
    const accepting = { ...headers, ...call.headers, accept: 'application/json' };
    try {
      if (body === undefined) return await httpClient({ ...request, headers: accepting });
      const json = { ...accepting, 'content-type': 'application/json' };
      const text = await runInSlices(writeJson(body), signal);
      signal.throwIfAborted();
      const answer = await httpClient({ ...request, headers: json, body: text });
      onHead?.(answer);
      return answer;
    } catch (error) {
      if (signal.aborted && !(error instanceof Fault)) throw new Fault({ kind: 'client-left' });
      throw toConnectionFault(error, { isPrompt });
    }
  };
  const read = async <Schema extends v.GenericSchema>(
    schema: Schema,
    text: string,
    signal: AbortSignal,
  ): Promise<v.InferOutput<Schema> | undefined> => {
    try {
      if (text.length > LONG_CHARS) await pause(clock, 0, signal);
      return await runInSlices(parsing(schema, text), signal);
    } catch (error) {
      throw signal.aborted && !(error instanceof Fault) ? new Fault({ kind: 'client-left' }) : error;
    }
  };
  const callAgent = async <Schema extends v.GenericSchema>(
    call: ApiCall<Schema>,
    signal: AbortSignal,
  ): Promise<v.InferOutput<Schema>> => {
    return readAnswer(call, await send(call, signal), signal);
  };
  const readAnswer = async <Schema extends v.GenericSchema>(
    call: ApiCall<Schema>,
    answer: HttpResponse,
    signal: AbortSignal,
  ): Promise<v.InferOutput<Schema>> => {
    const isConditional = call.headers?.[IF_REVISION_HEADER] !== undefined;
    const kind = { isPrompt: call.isPrompt ?? false, isConditional };
    if (answer.status < 200 || answer.status >= 300) throw toRefusalFault(answer, clock.now(), kind);
    const value = await read(call.schema, answer.text, signal);
    if (value === undefined) throw toUnusableAnswerFault(answer.text, kind);
    return value;
  };
  const withTimeLimit = async <T>(signal: AbortSignal, body: (limited: AbortSignal) => Promise<T>): Promise<T> => {
    const deadline = createDeadline(clock, callLimitMs, signal);
    try {
      return await body(deadline.signal);
    } finally {
      // If one of two calls has failed, the other one ends too.
      deadline.end();
    }
  };
  const callInTime = <Schema extends v.GenericSchema>(call: ApiCall<Schema>, signal: AbortSignal) =>
    withTimeLimit(signal, (limited) => callAgent(call, limited));

  const traced = createTracedPost(location.baseUrl);

  const session: AgentClient['session'] = async (id, signal) =>
    callInTime({ method: 'GET', path: `/session/${pathSegment(id)}`, schema: SessionRecord }, signal);
  /** Whether the server was seen to observe the header. Until then each change is preceded by a look. */
  let checksRevisions = false;

  return {
    models: (signal) =>
      withTimeLimit(signal, async (limited) => {
        const [providers, config] = await Promise.all([
          callAgent({ method: 'GET', path: '/config/providers', schema: ProvidersRecord }, limited),
          callAgent({ method: 'GET', path: '/config', schema: ConfigRecord }, limited),
        ]);
        return toAgentModels(providers, config);
      }),
    createSession: (given, signal) =>
      callInTime({ method: 'POST', path: '/session', schema: SessionRecord, body: sessionBody(given) }, signal),
    session,
    async sessions(limit, signal, updatedSinceMs) {
      const since: QueryParameters = updatedSinceMs === undefined ? {} : { start: String(updatedSinceMs) };
      const query = { roots: 'true', limit: String(limit), ...since };
      const limitBytes = SESSIONS_LIMIT_BYTES;
      const schema = v.array(SessionRecord);
      const found = await callInTime({ method: 'GET', path: '/session', query, schema, limitBytes }, signal);
      return found.filter(({ parentID }) => parentID === undefined).slice(0, limit);
    },
    async setMetadata(id, metadata, signal, ifRevision) {
      const call = { method: 'PATCH', path: `/session/${pathSegment(id)}`, schema: SessionRecord } as const;
      if (ifRevision === undefined) {
        await callInTime({ ...call, body: { metadata } }, signal);
        return 'stored';
      }
      if (!checksRevisions && metadataRevision((await session(id, signal)).metadata) !== ifRevision) return 'outdated';
      const conditional = { ...call, body: { metadata }, headers: { [IF_REVISION_HEADER]: String(ifRevision) } };
      return withTimeLimit(signal, async (limited) => {
        const answer = await send(conditional, limited);
        if (answer.status === 409) return 'outdated';
        await readAnswer(conditional, answer, limited);
        checksRevisions = answer.header(IF_REVISION_HEADER) !== null;
        return 'stored';
      });
    },
    async forkSession(id, { before, metadata }, signal) {
      const fork = { method: 'POST', path: `/session/${pathSegment(id)}/fork`, schema: SessionRecord } as const;
      const made = await callInTime({ ...fork, body: before === undefined ? {} : { messageID: before } }, signal);
      const path = `/session/${pathSegment(made.id)}`;
      return callInTime({ method: 'PATCH', path, schema: SessionRecord, body: forkedSessionBody(metadata) }, signal);
    },
    async deleteSession(id, signal) {
      await callInTime({ method: 'DELETE', path: `/session/${pathSegment(id)}`, schema: SuccessBody }, signal);
    },
    async prompt(sessionID, prompt, signal) {
      const path = `/session/${pathSegment(sessionID)}/message`;
      const sent = { method: 'POST', path, body: promptBody(prompt), limitBytes: MESSAGES_LIMIT_BYTES } as const;
      return traced(prompt.span, '/session/:id/message', (trace) =>
        sendWithClaim(prompt.claim, ({ headers: claiming, onHead }) => {
          const call = { ...sent, schema: MessageRecord, isPrompt: true, onHead };
          return callAgent({ ...call, headers: { ...trace, ...claiming } }, signal);
        }),
      );
    },
    async giveToolResults(sessionID, answer, signal) {
      const path = `/session/${pathSegment(sessionID)}/client-tool-results`;
      const given = { path, schema: ClientToolCounts, body: toolResultsBody(answer) };
      return traced(answer.span, '/session/:id/client-tool-results', (trace) =>
        callInTime({ ...given, method: 'POST', isRepeatable: true, headers: { ...trace } }, signal),
      );
    },
    async features(signal) {
      try {
        return (await callInTime({ method: 'GET', path: '/global/health', schema: HealthRecord }, signal)).features;
      } catch (error) {
        if (isNotFound(error)) return [];
        throw error;
      }
    },
    async message(sessionID, messageID, signal) {
      const path = `/session/${pathSegment(sessionID)}/message/${pathSegment(messageID)}`;
      return callInTime({ method: 'GET', path, schema: MessageRecord, limitBytes: MESSAGES_LIMIT_BYTES }, signal);
    },
    async deleteMessage(sessionID, messageID, signal) {
      const path = `/session/${pathSegment(sessionID)}/message/${pathSegment(messageID)}`;
      await callInTime({ method: 'DELETE', path, schema: SuccessBody }, signal);
    },
    async messages(sessionID, signal) {
      const path = `/session/${pathSegment(sessionID)}/message`;
      const limitBytes = MESSAGES_LIMIT_BYTES;
      return callInTime({ method: 'GET', path, schema: v.array(MessageRecord), limitBytes }, signal);
    },
    async busySessions(signal) {
      const statuses = await callInTime({ method: 'GET', path: '/session/status', schema: Statuses }, signal);
      return new Set(Object.entries(statuses).flatMap(([id, { type }]) => (type === 'idle' ? [] : [id])));
    },
    async abort(sessionID, signal, promptID) {
      const path = `/session/${pathSegment(sessionID)}/abort`;
      const query: QueryParameters = promptID === undefined ? {} : { prompt: promptID };
      await callInTime({ method: 'POST', path, query, schema: SuccessBody, isRepeatable: true }, signal);
    },
    permissionRequests: (signal) =>
      callInTime({ method: 'GET', path: '/permission', schema: v.array(PermissionRecord) }, signal),
    async answerPermission(id, answer, signal) {
      await callInTime(
        {
          method: 'POST',
          path: `/permission/${pathSegment(id)}/reply`,
          schema: SuccessBody,
          body: { ...answer, by: DECIDER },
        },
        signal,
      );
    },
    async rejectQuestion(id, signal) {
      await callInTime({ method: 'POST', path: `/question/${pathSegment(id)}/reject`, schema: SuccessBody }, signal);
    },
  };
};
