import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { HttpClientError, type HttpResponse } from '../../core/http/client.ts';
import { isRecord } from '../../core/json.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { isJsonText } from '../relay/response.ts';
import { defineTool, readOnlyHints, type Tool } from '../tool.ts';

const REASONS = [
  'setup_pending',
  'redirect',
  'not_json',
  'unexpected_json',
  'too_large',
  'connection_refused',
  'dns_failure',
  'tls_failure',
  'timeout',
  'connection_failed',
  'database_failing',
] as const;

type Reason = (typeof REASONS)[number];

const Health = v.strictObject({
  reachable: v.pipe(v.boolean(), v.description('something answered at the address')),
  healthy: v.pipe(
    v.boolean(),
    v.description('it answered 200 and said that its status is ok, and its database does not fail'),
  ),
  database: v.pipe(
    v.picklist(['ok', 'failing', 'unknown']),
    v.description('whether the relay answers what it has to read from its database'),
  ),
  status: v.pipe(v.nullable(v.number()), v.description('HTTP status; null when no whole answer came')),
  latency_ms: v.pipe(v.nullable(v.number()), v.description('time until the answer; null when none came')),
  reason: v.pipe(
    v.nullable(v.picklist(REASONS)),
    v.description(
      'why it is not healthy; setup_pending is a 404: not installed yet, or not the address of the relay; not_json is a web page or a proxy',
    ),
  ),
});

const FAILURES: readonly (readonly [RegExp, Reason])[] = [
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(?:ENOTFOUND|EAI_\w+)$/, 'dns_failure'],
  [/TIMEOUT|TIMEDOUT/, 'timeout'],
  [/^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_)|SELF_SIGNED|^HOSTNAME_MISMATCH$|^EPROTO$/, 'tls_failure'],
];

const reasonOfFailure = (code: string): Reason =>
  FAILURES.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection_failed';

/** Why an answer is not that of a healthy relay; null when it is. A proxy or a web page may answer 200, too. */
const reasonOfAnswer = ({ status, text }: HttpResponse): Reason | null => {
  if (status === 404) return 'setup_pending';
  if (status >= 300 && status < 400) return 'redirect';
  if (!isJsonText(text)) return 'not_json';
  const body: unknown = JSON.parse(text);
  return status === 200 && isRecord(body) && body.status === 'ok' ? null : 'unexpected_json';
};

const unanswered = (reason: Reason): v.InferInput<typeof Health> => ({
  reachable: false,
  healthy: false,
  database: 'unknown',
  status: null,
  latency_ms: null,
  reason,
});

/** The health that a failed request shows. Rethrows what says nothing about the relay, such as a cancelled call. */
const healthOfFailure = (error: unknown, latencyMs: number): v.InferInput<typeof Health> => {
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return unanswered('timeout');
  if (!(error instanceof HttpClientError)) throw error;
  if (error.code === 'ANSWER_TOO_LARGE') return { ...unanswered('too_large'), reachable: true, latency_ms: latencyMs };
  return unanswered(reasonOfFailure(error.code));
};

/** How long the relay may take for what it reads from its database. */
const DATABASE_LIMIT_MS = 5000;

/** Its own health says nothing of the database. Its public settings, which need no key, are read from there. */
const checkDatabase = async (
  { relay, clock }: { readonly relay: RelayClient; readonly clock: Clock },
  signal: AbortSignal,
): Promise<'ok' | 'failing' | 'unknown'> => {
  const deadline = createDeadline(clock, DATABASE_LIMIT_MS, signal);
  try {
    await relay.get('settings/public', {}, deadline.signal, { isPublic: true, isRetried: false });
    return 'ok';
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RelayError) return error.detail.kind === 'upstream-unavailable' ? 'failing' : 'unknown';
    if (error instanceof Fault && error.detail.kind === 'backend-timeout') return 'failing';
    throw error;
  } finally {
    deadline.clear();
  }
};

/** The `health` tool. An unreachable relay is a result, not an error. */
export const createHealthTool = ({ relay, clock }: { readonly relay: RelayClient; readonly clock: Clock }): Tool =>
  defineTool({
    name: 'health',
    title: 'Relay health',
    description: `Asks the relay whether it is up, without the admin key.
Use it first when another tool reports that the relay could not be asked, or before a piece of work that needs the relay. The relay's own health does not look at its database, so its public settings are read as well: database failing means that nothing else will work. A relay that cannot be reached is a normal result with reachable false and a reason, not an error. Takes no arguments and changes nothing. When healthy is false, tell the operator the reason; when it is true and other tools still fail, their own error says what to do next.`,
    annotations: readOnlyHints(false),
    input: v.strictObject({}),
    output: Health,
    async run(_input, { signal }) {
      const startedAt = clock.now();
      const latencyMs = () => Math.max(0, Math.round(clock.now() - startedAt));
      try {
        const received = await relay.health(signal);
        const latency_ms = latencyMs();
        const answerReason = reasonOfAnswer(received);
        const database = answerReason === null ? await checkDatabase({ relay, clock }, signal) : 'unknown';
        const reason = answerReason ?? (database === 'failing' ? 'database_failing' : null);
        return { reachable: true, healthy: reason === null, database, status: received.status, latency_ms, reason };
      } catch (error) {
        return healthOfFailure(error, latencyMs());
      }
    },
  });
