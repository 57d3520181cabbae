import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { HttpRequest, HttpResponse } from '../../core/http/client.ts';
import { parseJsonValue, writeJson } from '../../core/json.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Steps } from '../../core/time-slices.ts';
import type { BridgeFault } from '../errors.ts';
import { toConnectionFault, toRefusalFault, toUnusableAnswerFault } from './errors.ts';
import { type AgentTransport, createAgentUrls, type QueryParameters } from './servers.ts';

type AgentCallsNeeds = Pick<Runtime, 'clock' | 'runInSlices'> & {
  readonly transport: AgentTransport;
  readonly callLimitMs?: number;
};

/** A call of the agent's API. */
export type ApiCall<Schema> = {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly schema: Schema;
  readonly query?: QueryParameters;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** To do it twice makes no difference; true of everything but a POST unless given. */
  readonly isRepeatable?: boolean;
  /** It waits for a whole turn, and must not be sent again: it has no time limit. */
  readonly isPrompt?: boolean;
  /** The fault of an answer that says no in a way that the caller knows; undefined for another one. */
  readonly refusalOf?: (answer: HttpResponse) => Fault<BridgeFault> | undefined;
};

/** Calls the agent and reads its answer through a schema. Faults after a time limit, too. */
export type CallAgent = <Schema extends v.GenericSchema>(
  call: ApiCall<Schema>,
  signal: AbortSignal,
) => Promise<v.InferOutput<Schema>>;

const CALL_LIMIT_MS = 10_000;
/** Messages hold whole files and the output of tools. */
const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;
const LONG_CHARS = 262_144;
const JSON_CONTENT = { 'content-type': 'application/json' } as const;
/** The longest that a timer takes. */
const PROMPT_LIMIT_MS = 2 ** 31 - 1;

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

/** Calls to the agent server, or to any of several. */
export const createAgentCalls = (needs: AgentCallsNeeds): CallAgent => {
  const { transport, clock, runInSlices, callLimitMs = CALL_LIMIT_MS } = needs;
  const { headers, urlOf } = createAgentUrls(transport);
  return async (call, signal) => {
    const { method, path, schema, query, body, isRepeatable = method !== 'POST', isPrompt = false } = call;
    const deadline = createDeadline(clock, isPrompt ? PROMPT_LIMIT_MS : callLimitMs, signal);
    try {
      const text = body === undefined ? undefined : await runInSlices(writeJson(body), deadline.signal);
      const answer = await transport.httpClient({
        ...{ method, url: urlOf(path, query), signal: deadline.signal, limitBytes: ANSWER_LIMIT_BYTES },
        ...{ isRepeatable, isPrompt },
        headers: {
          ...headers,
          ...call.headers,
          accept: 'application/json',
          ...(text === undefined ? {} : JSON_CONTENT),
        },
        ...(text === undefined ? {} : { body: text }),
      });
      if (answer.status < 200 || answer.status >= 300)
        throw call.refusalOf?.(answer) ?? toRefusalFault(answer, clock.now(), { isPrompt });
      const value = await runInSlices(parsing(schema, answer.text), deadline.signal);
      if (value === undefined) throw toUnusableAnswerFault(answer.text, { isPrompt });
      return value;
    } catch (error) {
      if (signal.aborted && !(error instanceof Fault)) throw new Fault({ kind: 'client-left' });
      throw toConnectionFault(error, { isPrompt });
    } finally {
      deadline.end();
    }
  };
};
