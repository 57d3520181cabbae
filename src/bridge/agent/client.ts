import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { HttpRequest, HttpResponse } from '../../core/http/client.ts';
import { parseJson } from '../../core/json.ts';
import { toConnectionFault, toRefusalFault, toUnusableAnswerFault } from './errors.ts';
import { MessageRecord, PermissionRecord, SessionRecord } from './schema.ts';
import { type AgentExchange, type AgentPlace, agentAddress, type Query } from './servers.ts';
import type { AgentClient, AgentModel, AgentModels, Prompt } from './types.ts';

const Name = v.pipe(v.string(), v.minLength(1));

const ModelRecord = v.object({
  name: v.fallback(v.optional(Name), undefined),
  limit: v.fallback(v.object({ context: v.pipe(v.number(), v.minValue(0)) }), { context: 0 }),
  variants: v.fallback(v.record(v.string(), v.unknown()), {}),
});

const ProviderRecord = v.object({
  // A name with a slash would make another name of `provider/key`.
  id: v.pipe(v.string(), v.regex(/^[^/]+$/)),
  models: v.record(v.string(), v.fallback(v.nullable(ModelRecord), null)),
});

/** `GET /config/providers`. Providers and models that are not understood count as not there. */
export const ProvidersRecord = v.object({
  providers: v.array(v.fallback(v.nullable(ProviderRecord), null)),
  default: v.fallback(v.record(v.string(), v.string()), {}),
});
type ProvidersRecord = v.InferOutput<typeof ProvidersRecord>;

const ModelName = v.fallback(v.optional(v.string()), undefined);

/** What we read of `GET /config`. */
export const ConfigRecord = v.object({ model: ModelName, small_model: ModelName });
type ConfigRecord = v.InferOutput<typeof ConfigRecord>;

/**
 * The agent's models, in its order. A default that is none of them is no default: OpenCode shows whatever was written, and
 * our own server hides a name that came out of a variable. Then a single provider's first choice is the agent's, too.
 */
export const modelsFrom = (listed: ProvidersRecord, config: ConfigRecord): AgentModels => {
  const providers = listed.providers.filter((provider) => provider !== null);
  const models = providers.flatMap(({ id: providerID, models: records }) =>
    Object.entries(records).flatMap(([modelID, record]): AgentModel[] => {
      if (record === null) return [];
      const { name = modelID, variants, limit } = record;
      return [{ providerID, modelID, name, variants: Object.keys(variants), contextTokens: limit.context }];
    }),
  );
  const names = new Set(models.map(({ providerID, modelID }) => `${providerID}/${modelID}`));
  const known = (name: string | undefined): string | undefined =>
    name !== undefined && names.has(name) ? name : undefined;
  const [first, ...others] = providers;
  const onlyChoice = first === undefined || others.length > 0 ? undefined : `${first.id}/${listed.default[first.id]}`;
  return {
    models,
    defaultModel: known(config.model) ?? known(onlyChoice),
    smallModel: known(config.small_model),
  };
};

export type AgentClientOptions = AgentPlace & {
  readonly httpClient: AgentExchange;
  readonly clock: Clock;
  /** For every call but a prompt. */
  readonly callLimitMs?: number;
};

type Call<Schema> = {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly schema: Schema;
  readonly query?: Query;
  readonly body?: unknown;
  readonly limitBytes?: number;
  readonly isPrompt?: boolean;
  /** Twice is no different; so it is with everything but a POST. */
  readonly isRepeatable?: boolean;
};

const CALL_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024;
/** Messages hold whole files and whatever tools have said. */
const MESSAGES_LIMIT_BYTES = 64 * 1024 * 1024;
/** A session takes a few thousand bytes, and there may be ten thousand of them. */
const SESSIONS_LIMIT_BYTES = 64 * 1024 * 1024;

/** What nobody is there to answer, or to switch modes for; as OpenCode's own `run` has it. */
const RULES = ['question', 'plan_enter', 'plan_exit'].map((permission) => ({
  permission,
  pattern: '*',
  action: 'deny',
}));

const Done = v.literal(true);
const Statuses = v.record(v.string(), v.object({ type: v.string() }));

/** An id as a piece of a path. What cannot be one of the agent's is not asked for: it could lead elsewhere. */
const placeOf = (id: string): string => {
  if (/^\w{1,200}$/.test(id)) return id;
  throw new Fault({ kind: 'not-found', hint: 'The agent server knows no such thing' });
};

const bodyOf = ({ parts, model, variant, agent, system, hasTools }: Prompt) => ({
  parts,
  ...(model === undefined ? {} : { model }),
  ...(variant === undefined ? {} : { variant }),
  ...(agent === undefined ? {} : { agent }),
  ...(system === '' ? {} : { system }),
  // At our server it holds for this message, at OpenCode's for the session from then on.
  ...(hasTools ? {} : { tools: { '*': false } }),
});

/**
 * The agent over HTTP. A prompt waits as long as it takes: our server sends blanks meanwhile, OpenCode nothing at all, not
 * even headers. A prompt that breaks off after it was sent is `agent-failed` and not to be tried again.
 * OpenCode goes on with the turn of a session that is deleted, and lists the questions of one that was aborted: abort before,
 * reject after.
 */
export const createAgentClient = ({
  httpClient,
  clock,
  callLimitMs = CALL_LIMIT_MS,
  ...place
}: AgentClientOptions): AgentClient => {
  const { headers, urlOf } = agentAddress(place);

  const received = async (call: Call<unknown>, signal: AbortSignal): Promise<HttpResponse> => {
    const { method, path, query, body, limitBytes = ANSWER_LIMIT_BYTES, isPrompt = false } = call;
    const { isRepeatable = method !== 'POST' } = call;
    const sent = { method, url: urlOf(path, query), signal, limitBytes, isPrompt, isRepeatable };
    const accepting = { ...headers, accept: 'application/json' };
    try {
      if (body === undefined) return await httpClient({ ...sent, headers: accepting });
      const json = { ...accepting, 'content-type': 'application/json' };
      return await httpClient({ ...sent, headers: json, body: JSON.stringify(body) });
    } catch (error) {
      if (signal.aborted && !(error instanceof Fault)) throw new Fault({ kind: 'client-left' });
      throw toConnectionFault(error, { isPrompt });
    }
  };
  const answered = async <Schema extends v.GenericSchema>(
    call: Call<Schema>,
    signal: AbortSignal,
  ): Promise<v.InferOutput<Schema>> => {
    const asking = { isPrompt: call.isPrompt ?? false };
    const answer = await received(call, signal);
    if (answer.status < 200 || answer.status >= 300) throw toRefusalFault(answer, clock.now(), asking);
    const value = parseJson(call.schema, answer.text);
    if (value === undefined) throw toUnusableAnswerFault(answer.text, asking);
    return value;
  };
  const inTime = async <T>(signal: AbortSignal, body: (limited: AbortSignal) => Promise<T>): Promise<T> => {
    const deadline = createDeadline(clock, callLimitMs, signal);
    try {
      return await body(deadline.signal);
    } finally {
      // Of two calls the one that failed does not leave the other without a limit.
      deadline.end();
    }
  };
  const ask = <Schema extends v.GenericSchema>(call: Call<Schema>, signal: AbortSignal) =>
    inTime(signal, (limited) => answered(call, limited));

  return {
    models: (signal) =>
      inTime(signal, async (limited) => {
        const [providers, config] = await Promise.all([
          answered({ method: 'GET', path: '/config/providers', schema: ProvidersRecord }, limited),
          answered({ method: 'GET', path: '/config', schema: ConfigRecord }, limited),
        ]);
        return modelsFrom(providers, config);
      }),
    createSession: ({ title, metadata }, signal) =>
      ask(
        { method: 'POST', path: '/session', schema: SessionRecord, body: { title, metadata, permission: RULES } },
        signal,
      ),
    session: async (id, signal) =>
      ask({ method: 'GET', path: `/session/${placeOf(id)}`, schema: SessionRecord }, signal),
    async sessions(limit, signal) {
      const query = { roots: 'true', limit: String(limit) };
      const limitBytes = SESSIONS_LIMIT_BYTES;
      const schema = v.array(SessionRecord);
      const found = await ask({ method: 'GET', path: '/session', query, schema, limitBytes }, signal);
      return found.filter(({ parentID }) => parentID === undefined).slice(0, limit);
    },
    async setMetadata(id, metadata, signal) {
      const path = `/session/${placeOf(id)}`;
      await ask({ method: 'PATCH', path, schema: SessionRecord, body: { metadata } }, signal);
    },
    async deleteSession(id, signal) {
      await ask({ method: 'DELETE', path: `/session/${placeOf(id)}`, schema: Done }, signal);
    },
    async prompt(sessionID, prompt, signal) {
      const path = `/session/${placeOf(sessionID)}/message`;
      const sent = { method: 'POST', path, body: bodyOf(prompt), limitBytes: MESSAGES_LIMIT_BYTES } as const;
      return answered({ ...sent, schema: MessageRecord, isPrompt: true }, signal);
    },
    async messages(sessionID, signal) {
      const path = `/session/${placeOf(sessionID)}/message`;
      const limitBytes = MESSAGES_LIMIT_BYTES;
      return ask({ method: 'GET', path, schema: v.array(MessageRecord), limitBytes }, signal);
    },
    async busySessions(signal) {
      const statuses = await ask({ method: 'GET', path: '/session/status', schema: Statuses }, signal);
      return new Set(Object.entries(statuses).flatMap(([id, { type }]) => (type === 'idle' ? [] : [id])));
    },
    async abort(sessionID, signal) {
      const path = `/session/${placeOf(sessionID)}/abort`;
      await ask({ method: 'POST', path, schema: Done, isRepeatable: true }, signal);
    },
    permissionRequests: (signal) =>
      ask({ method: 'GET', path: '/permission', schema: v.array(PermissionRecord) }, signal),
    async answerPermission(id, answer, signal) {
      await ask({ method: 'POST', path: `/permission/${placeOf(id)}/reply`, schema: Done, body: answer }, signal);
    },
    async rejectQuestion(id, signal) {
      await ask({ method: 'POST', path: `/question/${placeOf(id)}/reject`, schema: Done }, signal);
    },
  };
};
