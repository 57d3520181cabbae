import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import { pushedSseResponse, type SendSse, sendWhileRead } from '../../core/http/sse.ts';
import type { RequestSpans } from '../../core/http/tracing.ts';
import { type CompileSchema, jsonPieces, SchemaError, writeJson } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { RunInSlices, Steps } from '../../core/time-slices.ts';
import { digestOf, type NewHash } from '../conversation/digest.ts';
import type { Owner } from '../conversation/types.ts';
import type { BridgeMetrics } from '../metrics.ts';
import type { Endpoint } from '../openai/endpoint.ts';
import type { RunningStreams } from '../openai/responses/running-streams.ts';
import type { ActiveRequest } from '../openai/tracked.ts';
import type { AnswerEnd, ApprovalRequest } from '../output.ts';
import { type BridgeRequest, badInput, isSentAgain, textOfParts } from '../request.ts';
import { filterLeadingEcho } from '../stream/echo-filter.ts';
import { withoutReasoning } from '../stream/hidden-reasoning.ts';
import { paceOutput } from '../stream/pacing.ts';
import type { PieceShare } from '../stream/piece-share.ts';
import { type PolledOutput, waitForEach } from '../stream/polled-output.ts';
import { withoutRepeatedBeginning } from '../stream/repeated-beginning.ts';
import { shapeOutput, showValue } from '../stream/structured.ts';
import type { Answers, ClientAnswer } from '../turn/answers.ts';
import type { RequestIdentity } from '../turn/sharing/kept-answers.ts';
import { readIdempotencyKey } from './idempotency-key.ts';
import { type MeasurementOptions, measureOutput } from './measured-output.ts';
import { createRequestReservation } from './reservation.ts';
import type { ActiveRequests } from './shutdown.ts';
import { streamAnswer } from './stream-answer.ts';

/** How answers are sent. `chunkSize` is in graphemes. */
type DeliverySettings = {
  readonly chunkSize: number;
  readonly chunkDelayMs: number;
  readonly dropsLeadingEcho: boolean;
  /** Whether clients get the model's reasoning. */
  readonly showsReasoning: boolean;
  readonly heartbeat: 'comment' | 'chunk' | 'off';
};

type AnswerRouteOptions = {
  readonly answers: Answers;
  readonly authenticate: (request: Request) => Owner;
  readonly activeRequests: Pick<ActiveRequests, 'track'>;
  /** Tracks who reads an answer again. Faults with `overloaded` when there are too many. */
  readonly trackReader: ActiveRequests['track'];
  readonly bodies: Pick<RequestBodies, 'readJson' | 'hold'>;
  /** Limits the answers at a time. */
  readonly semaphore: Pick<Semaphore, 'tryAcquire'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<BridgeMetrics, 'recordAnswer'>;
  readonly spanOf: RequestSpans['of'];
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly compileSchema: CompileSchema;
  readonly settings: DeliverySettings;
  /** The clock with timers that all streams share, and what else they share. */
  readonly timers: Clock;
  readonly runningStreams: Pick<RunningStreams, 'add'>;
  readonly share: PieceShare;
};

const LONG_BYTES = 65_536;

const PRINTABLE = /^[\x21-\x7e]+$/;
const headerText = (text: string): string => (PRINTABLE.test(text) ? text : encodeURIComponent(text));

/** Whether an effort was wished for that the model has no variant for. Only the model that answers shows it. */
const isEffortIgnored = ({ variants }: ClientAnswer, { effort }: BridgeRequest): boolean =>
  effort !== undefined && !variants.includes(effort);

/** What a request with nothing but results of calls is about: the calls, and what came before them. */
const answeredCalls = ({
  toolResults,
  isBackground = false,
  format,
}: BridgeRequest): readonly unknown[] | undefined => {
  if (toolResults === undefined || toolResults.after.length > 0 || toolResults.files.length > 0) return undefined;
  const callIDs = toolResults.results.map(({ callID }) => callID).toSorted();
  return [callIDs, toolResults.history, isBackground, format ?? null];
};

/** `measurement`: undefined where it is streamed again, as it is measured once. */
type Streaming = ActiveRequest & { readonly measurement?: MeasurementOptions; readonly startingAfter?: number };

/** The route of an endpoint: authenticates, parses, starts the answer and sends it, as one body or as a stream. */
export const createAnswerRoute = <Parsed extends BridgeRequest>(
  options: AnswerRouteOptions,
  endpoint: Endpoint<Parsed>,
) => {
  const { answers, clock, semaphore, bodies, activeRequests, meter, newHash, runInSlices, compileSchema, settings } =
    options;
  const { chunkSize, chunkDelayMs: delayMs, heartbeat } = settings;
  const answerHeaders = (answer: ClientAnswer, parsed: Parsed): Record<string, string> => {
    const ignored = new Set(parsed.ignored);
    if (isEffortIgnored(answer, parsed)) ignored.add(endpoint.effortMember);
    if (answer.areToolsIgnored) ignored.add('tools');
    return {
      'cache-control': 'no-store',
      'x-session-id': headerText(answer.conversationName),
      ...(ignored.size === 0 ? {} : { 'x-gatehouse-ignored': [...ignored].sort().join(', ') }),
    };
  };
  const filterEcho = (output: PolledOutput, { prompt, prefill, format }: BridgeRequest): PolledOutput => {
    // A value of a given form is always a whole one.
    const isContinued = prefill !== undefined && format === undefined;
    const continued = isContinued ? withoutRepeatedBeginning(output, prefill) : output;
    return settings.dropsLeadingEcho ? filterLeadingEcho(continued, textOfParts(prompt), clock) : continued;
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
      throw badInput('invalid_value', schemaAt, `Invalid value at '${schemaAt}': ${error.message}`);
    }
  };

  const sendBody = async (
    answer: ClientAnswer,
    parsed: Parsed,
    { measurement, signal }: { readonly measurement: MeasurementOptions; readonly signal: AbortSignal },
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
        ...answerHeaders(answer, parsed),
        // For clients that have a button for it.
        ...(approvalRequest === undefined ? {} : { 'x-approval-id': approvalRequest.id }),
      });
    } finally {
      answer.delivery.leave();
    }
  };
  const sendStream = (
    answer: ClientAnswer,
    parsed: Parsed,
    { measurement, signal, disconnect, end, startingAfter }: Streaming,
  ): Response => {
    const encoder = endpoint.createEncoder(parsed, answer, startingAfter);
    const sendEvents = async (send: SendSse, disconnected: AbortSignal): Promise<void> => {
      disconnected.addEventListener('abort', disconnect, { once: true });
      try {
        const output = measurement === undefined ? answer.output : measureOutput(answer.output, measurement);
        const paced = paceOutput(output, { clock: options.timers, chunkSize, delayMs, share: options.share });
        // When the bridge stops, a client gets that failure. In the background only its stream fails, and the answer goes on.
        const until = parsed.isBackground === true ? signal : disconnected;
        const { finish: onSent } = answer.delivery;
        const sendNext = startingAfter === undefined ? send : sendWhileRead(send, clock, disconnect);
        await streamAnswer(paced, { encoder, clock, runInSlices, send: sendNext, onSent }, until);
      } finally {
        answer.delivery.leave();
        end();
      }
    };
    const emptyEvent = heartbeat === 'chunk' ? encoder.empty() : undefined;
    const response = pushedSseResponse(sendEvents, {
      clock,
      heartbeat: heartbeat === 'off' ? undefined : () => emptyEvent ?? { comment: 'ping' },
      onBug: (error) =>
        options.log('error', 'stream-failed', { reason: error instanceof Error ? error.name : 'unknown' }),
    });
    for (const [name, value] of Object.entries(answerHeaders(answer, parsed))) {
      if (name !== 'cache-control') response.headers.set(name, value);
    }
    return response;
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
    const calls = answeredCalls(parsed);
    const callsDigest = calls && (yield* digestOf(newHash, jsonPieces([endpoint.name, parsed.conversation, ...calls])));
    return { parsed, identity: { key, digest, callsDigest, isRetry } };
  }

  return async (request: Request): Promise<Response> => {
    const owner = options.authenticate(request);
    const startedAt = clock.now();
    const body = await bodies.readJson(request);
    const active = activeRequests.track(request);
    const reservation = createRequestReservation(semaphore, bodies.hold(request));
    const end = () => {
      reservation.endReading();
      active.end();
    };
    let isStreaming = false;
    try {
      const { parsed, identity } = await runInSlices(read(request, body), active.signal);
      const measurement = { clock, startedAt, endpoint: endpoint.name, isStreamed: parsed.isStreamed, meter };
      const { startAnswer: reserve } = reservation;
      const shape = formChecked(parsed);
      const span = options.spanOf(request);
      const asked = span === undefined ? parsed : { ...parsed, span };
      const started = await answers.start({ request: asked, owner, identity, reserve, signal: active.signal });
      const toShown = (output: PolledOutput): PolledOutput =>
        shape(filterEcho(settings.showsReasoning ? output : withoutReasoning(output), parsed));
      const answer = { ...started, output: toShown(started.output) };
      if (parsed.isBackground === true)
        options.runningStreams.add(
          started,
          owner,
          (again, startingAfter) => {
            const reader = options.trackReader(again);
            const { output, delivery } = started.readAgain(reader.signal);
            return sendStream({ ...started, output: toShown(output), delivery }, parsed, { ...reader, startingAfter });
          },
          active.signal,
        );
      if (!parsed.isStreamed) return await sendBody(answer, parsed, { measurement, signal: active.signal });
      const response = sendStream(answer, parsed, { ...active, measurement, end });
      isStreaming = true;
      return response;
    } finally {
      if (!isStreaming) end();
    }
  };
};
