import * as assert from 'uvu/assert';
import type { ResponseStart } from '../../../../../src/bridge/openai/responses/response.ts';
import { createResponseEncoder } from '../../../../../src/bridge/openai/responses/stream.ts';
import type { OutputEvent } from '../../../../../src/bridge/output.ts';
import { streamedEvents } from '../../../harness/polled.ts';
import { startOf } from '../world.ts';

// biome-ignore lint/suspicious/noExplicitAny: events have many shapes, and a check looks at one member each
export type Event = any;

/** What a client receives for these events of an answer. */
export const read = async (outputEvents: AsyncIterable<OutputEvent>, more: Partial<ResponseStart> = {}) => {
  const events: Event[] = [];
  let thrown: unknown;
  try {
    for await (const { event, data } of streamedEvents(outputEvents, createResponseEncoder(startOf(more)))) {
      const parsed = JSON.parse(data ?? '');
      assert.is(parsed.type, event);
      assert.is(parsed.sequence_number, events.length);
      events.push(parsed);
    }
  } catch (error) {
    thrown = error;
  }
  return { events, thrown, names: events.map(({ type }) => type.replace('response.', '')) };
};
