import type OpenAI from 'openai';
import { APIError, BadRequestError, InternalServerError } from 'openai';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { ended, FAILURE, textEvents } from '../../../harness/recorded-outputs.ts';
import { createResponsesWorld, type ResponsesWorld, responseID } from '../world.ts';
import {
  AFTER,
  BROKEN,
  BROKEN_AT_ONCE,
  CUT,
  openaiOver,
  REPORTED,
  repeated,
  SILENT,
  THINKING,
  WORDS,
  WORKING,
} from './world.ts';

const PLAIN = [textEvents('a', 'Hel', 'lo 👨‍👩‍👧'), ended()] as const;

describe("OpenAI's own client", (check) => {
  const ASKING = { model: 'acme/small', input: 'Hello' };
  const streamed = async (world: ResponsesWorld) => {
    const types: string[] = [];
    let words = '';
    for await (const event of await openaiOver(world).responses.create({ ...ASKING, stream: true })) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') words += event.delta;
    }
    return { words, types };
  };

  check('reads a response in one piece', async () => {
    const made = await openaiOver(createResponsesWorld(...WORKING)).responses.create(ASKING);
    assert.equal([made.id, made.status, made.output_text], [responseID(), 'completed', WORDS]);
    assert.equal(
      made.output.map(({ type }) => type),
      ['reasoning', 'message', 'mcp_call', 'mcp_call', 'message'],
    );
    assert.is(made.usage?.total_tokens, 37);
  });

  check('reads a stream, event by event', async () => {
    const { words, types } = await streamed(createResponsesWorld(...PLAIN));
    assert.is(words, 'Hello 👨‍👩‍👧');
    assert.equal([types[0], types.at(-1)], ['response.created', 'response.completed']);
  });

  check('puts a stream together, and has the same text in the end', async () => {
    for (const outputEvents of [PLAIN, THINKING, WORKING, SILENT, CUT]) {
      const world = createResponsesWorld(...outputEvents);
      const stream = openaiOver(world).responses.stream(ASKING);
      const snapshots: string[] = [];
      stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
      const made = await stream.finalResponse();
      const whole = await openaiOver(world).responses.create(ASKING);
      assert.is(made.output_text, whole.output_text);
      const types = (output: readonly { type: string }[]) => output.map(({ type }) => type);
      assert.equal(types(made.output), types(whole.output));
      assert.equal([made.status, made.incomplete_details], [whole.status, whole.incomplete_details]);
      if (outputEvents === WORKING) assert.equal(snapshots, ['I look.', '\n\nFive.']);
    }
  });

  check('learns of a failure amid a stream, and does not ask again', async () => {
    for (const outputEvents of [BROKEN, BROKEN_AT_ONCE]) {
      const world = createResponsesWorld(...outputEvents);
      const raw = await rejection(streamed(world));
      const helped = await rejection(openaiOver(world).responses.stream(ASKING).finalResponse());
      for (const error of [raw, helped]) {
        assert.instance(error, APIError);
        assert.match((error as APIError).message, FAILURE.message);
        assert.is((error as APIError).code, FAILURE.code);
      }
      assert.is(world.asked.length, 2);
    }
  });

  check('learns of a failure that came before anything was sent, and does not ask again', async () => {
    const world = createResponsesWorld(...BROKEN);
    const error = await rejection(openaiOver(world).responses.create(ASKING));
    assert.instance(error, InternalServerError);
    assert.is((error as InternalServerError).code, FAILURE.code);
    assert.is(world.asked.length, 1);
  });

  check('learns what was wrong with a request', async () => {
    const wrong = { ...ASKING, background: true, store: false };
    const error = await rejection(openaiOver(createResponsesWorld(...PLAIN)).responses.create(wrong));
    assert.instance(error, BadRequestError);
    assert.equal(
      [(error as BadRequestError).code, (error as BadRequestError).param],
      ['unsupported_value', 'background'],
    );
  });

  check('goes on with the id of a response, or with its items', async () => {
    const world = createResponsesWorld(...WORKING);
    const client = openaiOver(world);
    const { id, output } = await client.responses.create(ASKING);
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'Hello' },
      ...(output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'More' },
    ];
    await client.responses.create({ ...ASKING, input });
    assert.equal(repeated(world), REPORTED);
    const made = await client.responses.create({ ...ASKING, previous_response_id: id });
    assert.equal([made.previous_response_id, world.asked[2]?.conversation], [id, AFTER]);
  });
});
