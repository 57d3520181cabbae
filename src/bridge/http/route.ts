import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import type { RequestSpans } from '../../core/http/tracing.ts';
import { type CompileSchema, jsonPieces, SchemaError, writeJson } from '../../core/json.ts';
import type { RunInSlices, Steps } from '../../core/time-slices.ts';
import type { Answers } from '../answer/answers.ts';
import type { ClientAnswer } from '../answer/client-answer.ts';
import type { ForAgent } from '../answer/for-agent.ts';
import type { RequestIdentity } from '../answer/turn-request.ts';
import { digestOf, type NewHash } from '../digest.ts';
import type { BridgeMetrics } from '../metrics.ts';
import type { Endpoint } from '../openai/endpoint.ts';
import type { ActiveRequest } from '../openai/tracked.ts';
import type { AnswerEnd, ApprovalRequest } from '../output.ts';
import { type BridgeRequest, badInput, invalidValue, isSentAgain, userTextIn } from '../request.ts';
import { filterLeadingEcho } from '../stream/echo-filter.ts';
import { withoutReasoning } from '../stream/hidden-reasoning.ts';
import { type PolledOutput, waitForEach } from '../stream/polled-output.ts';
import { withoutRepeatedBeginning } from '../stream/repeated-beginning.ts';
import { shapeOutput, showValue } from '../stream/structured.ts';
import { type MeasurementOptions, measureOutput } from './measured-output.ts';
import type { SendStream } from './send-stream.ts';

type AnswerRouteOptions = {
  readonly answers: Pick<Answers, 'start'>;
  /** A request as the agent can take it. */
  readonly forAgent: ForAgent;
  readonly authenticate: (request: Request) => string;
  /** Tracks an answer. Faults with `overloaded` when there are too many. */
  readonly trackAnswer: (request: Request) => ActiveRequest;
  readonly bodies: Pick<RequestBodies, 'readJson' | 'hold'>;
  readonly clock: Clock;
  readonly meter: Pick<BridgeMetrics, 'recordAnswer'>;
  readonly spanOf: RequestSpans['of'];
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly compileSchema: CompileSchema;
  readonly sendStream: SendStream;
  readonly settings: {
    readonly dropsLeadingEcho: boolean;
    /** Whether clients get the model's reasoning. */
    readonly showsReasoning: boolean;
  };
};

type BodyNeeds = {
  readonly measurement: MeasurementOptions;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
};

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,256}$/;

/** The key by which a client repeats a request; undefined without one. Faults with `bad-input` for one that cannot be a key. */
const readIdempotencyKey = (headers: Headers): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined;
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key;
  const name = 'Idempotency-Key';
  throw badInput('invalid_idempotency_key', name, `${name}: expected 1 to 256 printable characters without blanks`);
};

const LONG_BYTES = 65_536;

const PRINTABLE = /^[\x21-\x7e]+$/;
const headerText = (text: string): string => (PRINTABLE.test(text) ? text : encodeURIComponent(text));

/** Whether an effort was wished for that the model has no variant for. Only the model that answers shows it. */
const isEffortIgnored = ({ variants }: ClientAnswer, { effort }: BridgeRequest): boolean =>
  effort !== undefined && !variants.includes(effort);

/** The route of an endpoint: authenticates, parses, starts the answer and sends it, as one body or as a stream. */
export const createAnswerRoute = <Parsed extends BridgeRequest>(
  options: AnswerRouteOptions,
  endpoint: Endpoint<Parsed>,
) => {
  const { answers, clock, bodies, meter, newHash, runInSlices, compileSchema, settings } = options;
  const answerHeaders = (answer: ClientAnswer, parsed: Parsed, areToolsIgnored: boolean): Record<string, string> => {
    const ignored = new Set(parsed.ignored);
    if (isEffortIgnored(answer, parsed)) ignored.add(endpoint.effortMember);
    if (areToolsIgnored) ignored.add('tools');
    return {
      'cache-control': 'no-store',
      'x-session-id': headerText(answer.conversationName),
      ...(ignored.size === 0 ? {} : { 'x-gatehouse-ignored': [...ignored].sort().join(', ') }),
    };
  };
  const filterEcho = (output: PolledOutput, { input, prefill, format }: BridgeRequest): PolledOutput => {
    // A value of a given form is always a whole one.
    const isContinued = prefill !== undefined && format === undefined;
    const continued = isContinued ? withoutRepeatedBeginning(output, prefill) : output;
    return settings.dropsLeadingEcho ? filterLeadingEcho(continued, userTextIn(input), clock) : continued;
  };

  /** Checks answers in the form that a request asks for. A fault where its schema cannot be used. */
  const formChecked = ({ format }: BridgeRequest) => {
    if (format === undefined) return showValue;
    try {
      const check = compileSchema(format.schema);
      return (output: PolledOutput) => shapeOutput(output, format, check);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      const { schemaAt } = format;
      throw invalidValue(schemaAt, error.message);
    }
  };

  const sendBody = async (
    answer: ClientAnswer,
    parsed: Parsed,
    { measurement, signal, headers }: BodyNeeds,
  ): Promise<Response> => {
    let approvalRequest: ApprovalRequest | undefined;
    const onEnd = ({ approvalRequests }: AnswerEnd): void => {
      approvalRequest = approvalRequests[0];
    };
    // One in the background is not read here, and has not ended with this.
    const isRead = parsed.isBackground !== true;
    const output = isRead ? measureOutput(answer.output, { ...measurement, onEnd }) : answer.output;
    const made = endpoint.toBody(waitForEach(output), parsed, answer).finally(output.stop);
    try {
      const body = await untilAborted(made, signal);
      const text = await runInSlices(writeJson(body), signal);
      if (isRead) answer.delivery.finish();
      return jsonTextResponse(200, text, {
        ...headers,
        // For clients that have a button for it.
        ...(approvalRequest === undefined ? {} : { 'x-approval-id': approvalRequest.id }),
      });
    } finally {
      answer.delivery.leave();
    }
  };
  function* read({ headers }: Request, body: unknown): Steps<{ parsed: Parsed; identity: RequestIdentity }> {
    const isLong = Number(headers.get('content-length') ?? LONG_BYTES) >= LONG_BYTES;
    // Parsing its JSON has taken as long as a step may take.
    if (isLong) yield;
    const parsed = endpoint.parse(body, headers);
    const key = readIdempotencyKey(headers);
    if (isLong) yield;
    // Includes what may come in headers: the same body with another conversation or approval is another request.
    const whole = jsonPieces([endpoint.name, parsed.conversation, parsed.approval ?? null, body]);
    const isRetry = isSentAgain(headers);
    const digest = yield* digestOf(newHash, whole);
    return { parsed, identity: { key, digest, isRetry } };
  }

  return async (request: Request): Promise<Response> => {
    const owner = options.authenticate(request);
    const startedAt = clock.now();
    const body = await bodies.readJson(request);
    const active = options.trackAnswer(request);
    const releaseBody = bodies.hold(request);
    let isStreaming = false;
    try {
      const { parsed: sent, identity } = await runInSlices(read(request, body), active.signal);
      const { request: parsed, areToolsIgnored } = await options.forAgent(sent);
      const shape = formChecked(parsed);
      const span = options.spanOf(request);
      const asked = span === undefined ? parsed : { ...parsed, span };
      const started = await answers.start({ request: asked, owner, identity, signal: active.signal });
      releaseBody();
      const output = shape(
        filterEcho(settings.showsReasoning ? started.output : withoutReasoning(started.output), parsed),
      );
      const measurement = { clock, startedAt, endpoint: endpoint.name, isStreamed: parsed.isStreamed, meter };
      const answer = { ...started, output };
      const headers = answerHeaders(answer, parsed, areToolsIgnored);
      if (!parsed.isStreamed) return await sendBody(answer, parsed, { measurement, signal: active.signal, headers });
      const sentStream = {
        output: measureOutput(output, measurement),
        encoder: endpoint.createEncoder(parsed, answer),
      };
      const { delivery } = answer;
      isStreaming = true;
      return options.sendStream(
        { ...sentStream, delivery, headers, isBackground: parsed.isBackground === true },
        active,
      );
    } finally {
      releaseBody();
      if (!isStreaming) active.end();
    }
  };
};
