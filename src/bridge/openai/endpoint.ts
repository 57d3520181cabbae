import type { ClientAnswer } from '../answer/client-answer.ts';
import type { OutputEvent } from '../output.ts';
import type { BridgeRequest } from '../request.ts';

/**
 * An event of a stream. With `value` its JSON is not written yet: it may repeat a whole answer, so it is written in steps, and
 * everything after it waits.
 */
export type EncodedEvent =
  | { readonly event?: string; readonly data: string }
  | { readonly event: string; readonly value: object };

/** Makes the events of one stream out of an answer's output. They may be numbered, so each has to be sent, in this order. */
export type StreamEncoder = {
  /** What comes before any output. */
  readonly first: () => Promise<readonly EncodedEvent[]>;
  /** Throws the fault of a failure that the protocol has no event for. */
  readonly eventsFor: (event: OutputEvent) => readonly EncodedEvent[];
  /** The last events of a stream that ends with an error. */
  readonly errorEvents: (error: unknown) => Promise<readonly EncodedEvent[]>;
  /** An event without content, for clients that ignore comments; undefined where the protocol has none. */
  readonly empty: () => { readonly data: string } | undefined;
};

/** How an endpoint parses its requests and writes its answers. */
export type Endpoint<A extends BridgeRequest> = {
  readonly name: 'chat' | 'completions' | 'responses';
  /** The path of the reasoning effort in its bodies. */
  readonly effortMember: string;
  readonly parse: (body: unknown, headers: Headers) => A;
  readonly toBody: (output: AsyncIterable<OutputEvent>, request: A, answer: ClientAnswer) => Promise<unknown>;
  readonly createEncoder: (request: A, answer: ClientAnswer) => StreamEncoder;
};
