import * as assert from 'uvu/assert';
import { NO_ECHO } from '../../../../../src/bridge/openai/responses/echo.ts';
import { createResponse } from '../../../../../src/bridge/openai/responses/response.ts';
import { createResponseEncoder } from '../../../../../src/bridge/openai/responses/stream.ts';
import type { OutputEvent } from '../../../../../src/bridge/output.ts';
import { Fault } from '../../../../../src/core/fault.ts';
import { describe } from '../../../../check.ts';
import { streamedEvents } from '../../../harness/polled.ts';
import { ended, type Reported, reporting, textEvents, thought } from '../../../harness/recorded-outputs.ts';
import { BESIDE, began, callOf, responseID, returned, startOf } from '../world.ts';
import { type Event, read } from './world.ts';

const eventsOf = async (...outputEvents: Reported[]): Promise<Event[]> =>
  (await read(reporting(...outputEvents))).events;

/** Everything that has parts from the beginning of an answer to its end. */
const ALL = [thought('r', 'H', 'm'), textEvents('a', 'I ', 'look.'), BESIDE, textEvents('b', 'Five.'), ended()];

describe('the events of a response', (check) => {
  check(
    'end with an error alone where it is in the background and its stream is cut off: the response goes on',
    async () => {
      const stopping = new Fault({ kind: 'unavailable', message: 'The bridge stops', retryAfterMs: 1 });
      const valuesAfter = async (isBackground: boolean) => {
        const encoder = createResponseEncoder(startOf({ echo: { ...NO_ECHO, background: isBackground } }));
        const events = [...(await encoder.first()), ...(await encoder.errorEvents(stopping))];
        return events.map((event) => 'value' in event && event.value) as Event[];
      };
      const [, , last, ...more] = await valuesAfter(true);
      assert.equal([last.type, last.sequence_number, last.error.code, more.length], ['error', 1, 'unavailable', 0]);
      assert.equal(
        (await valuesAfter(false)).slice(-2).map(({ type }) => type),
        ['error', 'response.failed'],
      );
    },
  );

  check('hold everything that is known of a text', async () => {
    const events = await eventsOf(textEvents('a', 'Hel', 'lo "x"\n'), ended());
    const at = { item_id: `msg_0_${responseID()}`, output_index: 0 };
    const [, , added, part, first, second, done, partDone, itemDone, completed] = events;
    assert.equal(added.item, {
      id: at.item_id,
      type: 'message',
      status: 'in_progress',
      content: [],
      role: 'assistant',
    });
    assert.equal(part.part, { type: 'output_text', annotations: [], logprobs: [], text: '' });
    const delta = { type: 'response.output_text.delta', ...at, content_index: 0, logprobs: [] };
    assert.equal(first, { ...delta, delta: 'Hel', sequence_number: 4 });
    assert.equal(second, { ...delta, delta: 'lo "x"\n', sequence_number: 5 });
    assert.equal([done.text, done.logprobs, done.content_index], ['Hello "x"\n', [], 0]);
    assert.equal(partDone.part.text, 'Hello "x"\n');
    assert.equal(itemDone.item.status, 'completed');
    assert.equal(itemDone.item.content, [partDone.part]);
    assert.equal(completed.response.output, [itemDone.item]);
    for (const event of [part, done, partDone]) assert.equal([event.item_id, event.output_index], [at.item_id, 0]);
  });

  check('write reasoning as a summary, which is what clients show', async () => {
    const { events, names } = await read(reporting(thought('r', 'H', 'm'), textEvents('a', 'Yes'), ended()));
    assert.equal(names.slice(2, 9), [
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ]);
    assert.equal([events[4].delta, events[4].summary_index, events[6].text], ['H', 0, 'Hm']);
    assert.equal(events[8].item.summary, [{ type: 'summary_text', text: 'Hm' }]);
    assert.is(events[9].output_index, 1);
  });

  check('write calls beside each other, each at the index where it began', async () => {
    const { events, names } = await read(reporting(BESIDE, textEvents('a', 'Five'), ended()));
    const begins = ['output_item.added', 'mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done'];
    assert.equal(names.slice(2, 14), [
      ...begins,
      ...begins,
      'mcp_call.failed',
      'output_item.done',
      'mcp_call.completed',
      'output_item.done',
    ]);
    assert.equal(
      events.slice(2, 14).map(({ output_index }) => output_index),
      [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0],
    );
    assert.equal([events[2].item.arguments, events[4].delta, events[5].arguments], ['', '{"page":1}', '{"page":1}']);
    const { output } = events.at(-1).response;
    assert.equal(
      output.map(({ type, status }: Event) => [type, status]),
      [
        ['mcp_call', 'completed'],
        ['mcp_call', 'failed'],
        ['message', 'completed'],
      ],
    );
  });

  check('distinguish calls that a model gave the same id one after the other', async () => {
    const again = callOf('c', 'bash');
    const events = await eventsOf(began(again), returned(again, 'one'), began(again), returned(again, 'two'), ended());
    const { output } = events.at(-1).response;
    assert.equal(
      output.slice(0, 2).map((item: Event) => item.output),
      ['one', 'two'],
    );
  });

  check('begin each later text with a new paragraph, because clients put texts together as they are', async () => {
    const events = await eventsOf(textEvents('a', 'I look.'), textEvents('b', 'Fi', 've.'), ended());
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
    assert.equal(deltas, ['I look.', '\n\nFi', 've.']);
    assert.is(events.at(-1).response.output[1].content[0].text, '\n\nFive.');
  });

  check('hold a message even where the agent said nothing, or some clients ask again', async () => {
    const call = callOf('c', 'bash');
    const events = await eventsOf(began(call), returned(call, 'ok'), ended());
    const { output, status } = events.at(-1).response;
    assert.is(status, 'completed');
    assert.equal(
      output.map(({ type }: Event) => type),
      ['mcp_call', 'message'],
    );
    assert.equal([output[1].status, output[1].content[0].text], ['completed', '']);
  });

  check('end with the same response as one that is not streamed', async () => {
    const [whole, events] = [await createResponse(reporting(...ALL), startOf()), await eventsOf(...ALL)];
    assert.equal(events.at(-1).response, JSON.parse(JSON.stringify(whole)));
  });

  check('end their source when their reader leaves', async () => {
    let isEnded = false;
    async function* source(): AsyncGenerator<OutputEvent> {
      try {
        yield* reporting(textEvents('a', 'Hello', 'there'));
      } finally {
        isEnded = true;
      }
    }
    for await (const { event } of streamedEvents(source(), createResponseEncoder(startOf())))
      if (event?.endsWith('delta')) break;
    assert.ok(isEnded);
  });
});
