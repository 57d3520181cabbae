import type { ClientAnswer } from '../answer/client-answer.ts';
import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** How an endpoint parses its requests and writes its answers. */
export type Endpoint<A extends BridgeRequest> = {
  readonly name: 'chat' | 'completions' | 'responses';
  /** The path of the reasoning effort in its bodies. */
  readonly effortMember: string;
  readonly parse: (body: unknown, headers: Headers) => A;
  readonly toBody: (output: AsyncIterable<OutputEvent>, request: A, answer: ClientAnswer) => Promise<unknown>;
  readonly createEncoder: (request: A, answer: ClientAnswer) => StreamEncoder;
};
