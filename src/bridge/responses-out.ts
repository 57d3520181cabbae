import { faultOf, unended } from './answer-fault.ts';
import { createOutput } from './openai/responses/items.ts';
import { type ResponseEcho, type ResponseObject, responseObject } from './openai/responses/response.ts';
import type { Saying } from './turn/output.ts';

/** What is known of an answer before it has begun. */
export type ResponseStart = {
  /** Settled once the answer has begun. */
  readonly responseID: () => Promise<string>;
  readonly model: string;
  readonly echo: ResponseEcho;
  readonly nowSeconds: () => number;
};

/** The body of an answer in one piece. A failure is thrown, as the fault it is answered with. */
export const responseAnswer = async (
  sayings: AsyncIterable<Saying>,
  { responseID, model, echo, nowSeconds }: ResponseStart,
): Promise<ResponseObject> => {
  const createdSeconds = nowSeconds();
  const id = await responseID();
  const { take, close, items } = createOutput(id);
  for await (const saying of sayings) {
    if (saying.kind === 'failure') throw faultOf(saying.failure);
    take(saying);
    if (saying.kind !== 'end') continue;
    close(saying.end.finish === 'stop' ? 'completed' : 'incomplete');
    const ended = { kind: 'ended', output: items(), end: saying.end, endedSeconds: nowSeconds() } as const;
    return responseObject({ id, model, createdSeconds, echo }, ended);
  }
  throw unended();
};
