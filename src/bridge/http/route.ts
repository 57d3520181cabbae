import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { readJson } from '../../core/http/body.ts';
import { jsonResponse } from '../../core/http/response.ts';
import { type SseEvent, sseResponse } from '../../core/http/sse.ts';
import type { Log } from '../../core/log.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { Owner } from '../conversation/types.ts';
import type { AnswerMeasurement, BridgeMetrics } from '../metrics.ts';
import type { Endpoint } from '../openai/endpoint.ts';
import type { AnswerEnd, ApprovalRequest, OutputEvent } from '../output.ts';
import { type BridgeRequest, textOfParts } from '../request.ts';
import { filterLeadingEcho } from '../stream/echo-filter.ts';
import { paceOutput } from '../stream/pacing.ts';
import type { Answers, ClientAnswer } from '../turn/answers.ts';
import type { Leaving, Presence } from './shutdown.ts';

export type Counting = {
  readonly clock: Clock;
  readonly meter: BridgeMetrics;
  readonly startedAt: number;
  readonly endpoint: AnswerMeasurement['endpoint'];
  readonly isStreamed: boolean;
  /** Hears of an answer that came to its end. */
  readonly onEnd?: (end: AnswerEnd) => void;
};

/** The same sayings, counted when they have ended or their reader has left. */
export async function* counted(sayings: AsyncGenerator<OutputEvent>, counting: Counting): AsyncGenerator<OutputEvent> {
  const { clock, meter, startedAt, endpoint, isStreamed } = counting;
  let firstWordMs: number | undefined;
  let outcome: AnswerMeasurement['outcome'] = 'left';
  try {
    for await (const saying of sayings) {
      if (saying.kind === 'text') firstWordMs ??= clock.now() - startedAt;
      else if (saying.kind === 'failure') outcome = 'failed';
      else if (saying.kind === 'end') {
        outcome = saying.end.approvalRequests.length > 0 ? 'asked' : 'answered';
        counting.onEnd?.(saying.end);
      }
      yield saying;
    }
  } catch (error) {
    if (!(error instanceof Fault && error.detail.kind === 'client-left')) outcome = 'failed';
    throw error;
  } finally {
    meter.answer({ endpoint, isStreamed, outcome, firstWordMs, durationMs: clock.now() - startedAt });
  }
}

export type AnswerRouteNeeds = {
  readonly answers: Answers;
  readonly enter: (request: Request) => Owner;
  readonly leaving: Leaving;
  readonly gate: Semaphore;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: BridgeMetrics;
  readonly digest: (text: string) => string;
  readonly bodyLimitBytes: number;
  readonly chunkSize: number;
  readonly chunkDelayMs: number;
  readonly dropsLeadingEcho: boolean;
  readonly heartbeat: 'comment' | 'chunk' | 'off';
};

const BODY_LIMIT_MS = 30_000;
const HEARTBEAT_MS = 10_000;
const RETRY_KEY = /^[\x21-\x7e]{1,256}$/;

const PLAIN = /^[\x21-\x7e]+$/;
const headerText = (text: string): string => (PLAIN.test(text) ? text : encodeURIComponent(text));

const headersOf = ({ conversationName: name }: ClientAnswer, { ignored }: BridgeRequest): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-session-id': headerText(name),
  ...(ignored.length === 0 ? {} : { 'x-gatehouse-ignored': ignored.join(', ') }),
});

const retryKeyOf = (headers: Headers): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined;
  if (key === undefined || RETRY_KEY.test(key)) return key;
  throw new Fault({
    kind: 'bad-input',
    code: 'invalid_idempotency_key',
    param: 'Idempotency-Key',
    message: 'Idempotency-Key: expected 1 to 256 printable characters without blanks',
  });
};

type Streaming = Pick<Presence, 'leave'> & { readonly counting: Counting; readonly end: () => void };

/** One endpoint that asks the agent and answers, whole or as a stream. */
export const createAnswerRoute = <A extends BridgeRequest>(needs: AnswerRouteNeeds, face: Endpoint<A>) => {
  const { answers, clock, gate, leaving, meter } = needs;
  const readBody = async (request: Request): Promise<unknown> => {
    const deadline = createDeadline(clock, BODY_LIMIT_MS, request.signal);
    try {
      return await readJson(request, needs.bodyLimitBytes, deadline.signal);
    } finally {
      deadline.clear();
    }
  };
  const filtered = (sayings: AsyncGenerator<OutputEvent>, asked: BridgeRequest): AsyncGenerator<OutputEvent> =>
    needs.dropsLeadingEcho ? filterLeadingEcho(sayings, textOfParts(asked.prompt), clock) : sayings;

  const whole = async (answer: ClientAnswer, asked: A, counting: Counting): Promise<Response> => {
    let question: ApprovalRequest | undefined;
    const onEnd = ({ approvalRequests: asks }: AnswerEnd): void => {
      question = asks[0];
    };
    const sayings = counted(filtered(answer.output, asked), { ...counting, onEnd });
    const value = await face.toBody(sayings, asked, answer);
    return jsonResponse(200, value, {
      ...headersOf(answer, asked),
      // For clients that have a button for it.
      ...(question === undefined ? {} : { 'x-approval-id': question.id }),
    });
  };
  const streamed = (answer: ClientAnswer, asked: A, { counting, leave, end }: Streaming): Response => {
    async function* events(left: AbortSignal): AsyncGenerator<SseEvent> {
      left.addEventListener('abort', leave, { once: true });
      try {
        const sayings = counted(filtered(answer.output, asked), counting);
        // Not the presence's signal: that aborts when the bridge stops, too, and then there is a last word to be said.
        const pieces = paceOutput(sayings, { clock, chunkSize: needs.chunkSize, delayMs: needs.chunkDelayMs }, left);
        yield* face.toEvents(pieces, asked, answer);
      } finally {
        end();
      }
    }
    const emptyEvent = needs.heartbeat === 'chunk' ? face.emptyEvent(asked, answer) : undefined;
    const response = sseResponse(events, {
      clock,
      heartbeat:
        needs.heartbeat === 'off'
          ? undefined
          : { everyMs: HEARTBEAT_MS, event: () => emptyEvent ?? { comment: 'ping' } },
      onBug: (error) =>
        needs.log('error', 'stream-failed', { reason: error instanceof Error ? error.name : 'unknown' }),
    });
    for (const [name, value] of Object.entries(headersOf(answer, asked))) {
      if (name !== 'cache-control') response.headers.set(name, value);
    }
    return response;
  };

  return async (request: Request): Promise<Response> => {
    const owner = needs.enter(request);
    const startedAt = clock.now();
    const body = await readBody(request);
    const asked = face.parse(body, request.headers);
    const mark = {
      key: retryKeyOf(request.headers),
      // With the conversation and the verdict, which may come in headers: the same words elsewhere are something else.
      digest: needs.digest(JSON.stringify([face.name, asked.conversation, asked.approval ?? null, body])),
      isRetry: Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0,
    };
    const place = gate.tryAcquire();
    if (place === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: 1000 });
    const { signal, leave, done } = leaving.of(request);
    const end = () => {
      place();
      done();
    };
    const counting = { clock, startedAt, endpoint: face.name, isStreamed: asked.isStreamed, meter };
    let isOpen = false;
    try {
      const answer = await answers.start({ request: asked, owner, identity: mark, signal });
      if (!asked.isStreamed) return await whole(answer, asked, counting);
      const response = streamed(answer, asked, { counting, leave, end });
      isOpen = true;
      return response;
    } finally {
      if (!isOpen) end();
    }
  };
};
