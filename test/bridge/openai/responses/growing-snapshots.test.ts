import * as assert from 'uvu/assert';
import { NO_ECHO } from '../../../../src/bridge/openai/responses/echo.ts';
import { createSnapshotEncoder } from '../../../../src/bridge/openai/responses/growing-snapshots.ts';
import { callItem, messageItem, type OutputItem } from '../../../../src/bridge/openai/responses/items.ts';
import { type ResponseObject, toResponseObject } from '../../../../src/bridge/openai/responses/response.ts';
import { createResponseEncoder } from '../../../../src/bridge/openai/responses/stream.ts';
import type { EncodedEvent } from '../../../../src/bridge/openai/stream-encoder.ts';
import { NO_USAGE } from '../../../../src/bridge/output.ts';
import { describe } from '../../../check.ts';
import { callOf, responseID } from './world.ts';

const facts = { id: responseID(), model: 'acme/small', createdSeconds: 1, echo: { ...NO_ECHO, isBackground: true } };
const running = (...output: readonly OutputItem[]): ResponseObject =>
  toResponseObject(facts, { kind: 'running', output });
const ended = (...output: readonly OutputItem[]): ResponseObject =>
  toResponseObject(facts, {
    kind: 'ended',
    output,
    end: { finish: 'stop', usage: NO_USAGE, approvalRequests: [] },
    endedSeconds: 2,
  });

const parsed = (event: EncodedEvent) =>
  ('data' in event ? JSON.parse(event.data) : JSON.parse(JSON.stringify(event.value))) as {
    readonly type: string;
    readonly sequence_number: number;
    readonly delta?: string;
    readonly text?: string;
    readonly output_index?: number;
  };
const eventsOf = (looks: readonly ResponseObject[], after = -1) => {
  const encoder = createSnapshotEncoder(after);
  return looks.flatMap((look) => encoder.eventsFor(look)).map(parsed);
};
const textOf = (events: ReturnType<typeof eventsOf>): string =>
  events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta ?? ''] : [])).join('');
const areGrowing = (events: ReturnType<typeof eventsOf>): boolean =>
  events.every(({ sequence_number }, index) => sequence_number > (events[index - 1]?.sequence_number ?? -1));

describe('the events of a response that is looked at again and again', (check) => {
  check('are the same however often it is looked at', () => {
    const text = 'It was a dark and stormy night, '.repeat(4000);
    const whole = eventsOf([ended(messageItem('m', text, 'completed'), messageItem('n', 'The end.', 'completed'))]);
    assert.is(textOf(whole), `${text}The end.`);
    assert.ok(areGrowing(whole));
    assert.ok(whole.length < 3500, `${whole.length} events`);
    const looks = [0, 5, 16, 17, 33, 70_000, 100_001].map((end) =>
      running(messageItem('m', text.slice(0, end), 'in_progress')),
    );
    const last = ended(messageItem('m', text, 'completed'), messageItem('n', 'The end.', 'completed'));
    assert.equal(eventsOf([...looks, last]), whole);
  });

  check('have the same error as its own stream where it has failed', async () => {
    const failure = { status: 502, code: 'agent_interrupted', message: 'The agent has ended' };
    const failed = toResponseObject(facts, { kind: 'failed', output: [], failure });
    const start = { ...facts, responseID: async () => facts.id, nowSeconds: () => 2 };
    const encoder = createResponseEncoder(start);
    const streamed = [...(await encoder.first()), ...encoder.eventsFor({ kind: 'failure', failure })].map(parsed);
    const isError = ({ type }: { readonly type: string }) => type === 'error';
    assert.is(streamed.filter(isError).length, 1);
    assert.equal(eventsOf([failed]).filter(isError), streamed.filter(isError));
  });

  check('come item after item, also where a later call ends first', () => {
    const [one, other] = [callOf('call_1', 'list'), callOf('call_2', 'list')];
    const result = { output: '5', isError: false };
    const whole = eventsOf([ended(callItem('a', one, result), callItem('b', other, result))]);
    const beside = running(callItem('a', one, undefined), callItem('b', other, result));
    assert.equal(eventsOf([beside, ended(callItem('a', one, result), callItem('b', other, result))]), whole);
    assert.ok(areGrowing(whole));
  });

  check('end a text that its model began again with all of it, and after what was sent of the first one', () => {
    const first = running(messageItem('m', 'Once upon a time there were', 'in_progress'));
    const again = ended(messageItem('m2', 'No story today, and none tomorrow either.', 'completed'));
    const events = eventsOf([first, again]);
    assert.is(
      events.find(({ type }) => type === 'response.output_text.done')?.text,
      'No story today, and none tomorrow either.',
    );
    assert.ok(areGrowing(events));
    const lastSent = events.filter(({ type }) => type === 'response.output_text.delta').at(-1)?.sequence_number ?? 0;
    const rest = eventsOf([again], lastSent);
    assert.ok(rest.some(({ type }) => type === 'response.output_text.done'));
    assert.is(rest.at(-1)?.type, 'response.completed');
  });
});
