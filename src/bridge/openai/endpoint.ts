import type { SseEvent } from '../../core/http/sse.ts';
import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';
import type { ClientAnswer } from '../turn/answers.ts';

/** What an endpoint makes of a request and of its answer. */
export type Endpoint<A extends BridgeRequest> = {
  readonly endpoint: 'chat' | 'responses';
  readonly read: (body: unknown, headers: Headers) => A;
  readonly whole: (sayings: AsyncIterable<OutputEvent>, asked: A, answer: ClientAnswer) => Promise<unknown>;
  readonly events: (sayings: AsyncIterable<OutputEvent>, asked: A, answer: ClientAnswer) => AsyncGenerator<SseEvent>;
  /** An event that says nothing, for clients that hear no comments; none where there is no such event. */
  readonly emptyEvent: (asked: A, answer: ClientAnswer) => SseEvent | undefined;
};
