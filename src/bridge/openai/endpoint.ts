import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';
import type { ClientAnswer } from '../turn/answers.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** How an endpoint parses its requests and writes its answers. */
export type Endpoint<A extends BridgeRequest> = {
  readonly name: 'chat' | 'completions' | 'responses';
  /** The path of the reasoning effort in its bodies. */
  readonly effortMember: string;
  readonly parse: (body: unknown, headers: Headers) => A;
  readonly toBody: (output: AsyncIterable<OutputEvent>, request: A, answer: ClientAnswer) => Promise<unknown>;
  /** `startingAfter`: the number of the last event that the client has, of an answer in the background. */
  readonly createEncoder: (request: A, answer: ClientAnswer, startingAfter?: number) => StreamEncoder;
};
