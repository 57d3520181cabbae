import * as assert from 'uvu/assert';
import { JOB } from './background-world.ts';
import { type BridgeWorld, KEY, until } from './world.ts';

/** An event of a response, as it is sent. */
export type StreamedEvent = {
  readonly type: string;
  readonly sequence_number: number;
  readonly [more: string]: unknown;
};

const parse = (text: string): readonly StreamedEvent[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
/** Reads a stream as it comes. */
export const readStream = (response: Response) => {
  assert.is(response.status, 200);
  let text = '';
  const run = async () => {
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
    return parse(text);
  };
  const whole = run();
  const idOfResponse = async (): Promise<string> => {
    await until(() => /resp_\w+/.test(text), 'an id');
    return /resp_\w+/.exec(text)?.[0] ?? '';
  };
  return { text: () => text, id: idOfResponse, whole };
};
/** All events of a stream. */
export const eventsIn = (response: Response): Promise<readonly StreamedEvent[]> => readStream(response).whole;
/** The story of these worlds, as a stream. */
export const createStreamed = (world: BridgeWorld): Promise<Response> =>
  world.send('/v1/responses', { ...JOB, stream: true });
/** The events of a response after a number. */
export const resumeStream = (world: BridgeWorld, id: string, after?: number): Promise<Response> =>
  world.bridge.handler(
    new Request(
      `http://bridge.test/v1/responses/${id}?stream=true${after === undefined ? '' : `&starting_after=${after}`}`,
      { headers: { authorization: `Bearer ${KEY}` } },
    ),
  );
/** The number of the last event. */
export const lastNumber = (events: readonly StreamedEvent[]) => events.at(-1)?.sequence_number ?? Number.NaN;
