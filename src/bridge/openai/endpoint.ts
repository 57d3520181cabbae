import type { SseEvent } from '../../core/http/sse.ts';
import type { Saying } from '../output.ts';
import type { Asked } from '../request.ts';
import type { Answer } from '../turn/request.ts';

/** What an endpoint makes of a request and of its answer. */
export type Face<A extends Asked> = {
  readonly endpoint: 'chat' | 'responses';
  readonly read: (body: unknown, headers: Headers) => A;
  readonly whole: (sayings: AsyncIterable<Saying>, asked: A, answer: Answer) => Promise<unknown>;
  readonly events: (sayings: AsyncIterable<Saying>, asked: A, answer: Answer) => AsyncGenerator<SseEvent>;
  /** An event that says nothing, for clients that hear no comments; none where there is no such event. */
  readonly emptyEvent: (asked: A, answer: Answer) => SseEvent | undefined;
};
