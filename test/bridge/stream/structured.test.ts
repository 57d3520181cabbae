import * as assert from 'uvu/assert';
import { createSchemaCompiler } from '../../../src/adapter/node/json-schema.ts';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import type { AnswerFormat } from '../../../src/bridge/request.ts';
import { waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import { STRUCTURED_OUTPUT_CALL, shapeOutput } from '../../../src/bridge/stream/structured.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { pollIterable } from '../harness/read-ahead.ts';
import {
  ASK,
  ended,
  failed,
  type Reported,
  ranTool,
  reporting,
  textEvents,
  thought,
} from '../harness/recorded-outputs.ts';

const SCHEMA = { type: 'object', properties: { degrees: { type: 'integer' } }, required: ['degrees'] };
const AS_TEXT: AnswerFormat = { kind: 'text', schema: SCHEMA, schemaAt: 'response_format' };
const AS_CALL: AnswerFormat = { kind: 'call', name: 'weather', schema: SCHEMA, schemaAt: 'tools' };
const check = createSchemaCompiler()(SCHEMA);

const gave = (value: unknown, isError = false): readonly OutputEvent[] => {
  const call = { id: `call_${JSON.stringify(value)}`, name: STRUCTURED_OUTPUT_CALL, input: JSON.stringify(value) };
  return [
    { kind: 'call', call },
    { kind: 'call-end', call, output: 'given', isError },
  ];
};
const shaped = async (format: AnswerFormat, ...given: readonly Reported[]): Promise<readonly OutputEvent[]> => {
  const events: OutputEvent[] = [];
  const source = pollIterable(reporting(...given), createFakeClock());
  for await (const event of waitForEach(shapeOutput(source, format, check))) events.push(event);
  return events;
};
/** Without the end, which is there in any case. */
const outputOf = async (format: AnswerFormat, ...given: readonly Reported[]): Promise<readonly string[]> => {
  const events = await shaped(format, ...given, ended());
  assert.is(events.at(-1)?.kind, 'end');
  return events.slice(0, -1).map((event) => {
    if (event.kind === 'text' || event.kind === 'refusal') return `${event.kind} ${event.text}`;
    if (event.kind === 'client-call') return `client-call ${event.name} ${event.input}`;
    return event.kind;
  });
};
const VALUE = { degrees: -3 };
const JSON_TEXT = '{"degrees":-3}';

describe('an answer that has to be one JSON value', (describeCheck) => {
  describeCheck('is the value that the agent gave by its tool, and no other text', async () => {
    const given = [
      thought('r', 'Hm.'),
      textEvents('a', 'I look.'),
      ranTool('search'),
      gave(VALUE),
      textEvents('b', 'Done.'),
    ];
    assert.equal(await outputOf(AS_TEXT, ...given), [
      ...['reasoning', 'reasoning-end', 'call', 'call-end', `text ${JSON_TEXT}`, 'text-end'],
    ]);
    assert.equal((await outputOf(AS_CALL, ...given)).slice(-1), [`client-call weather ${JSON_TEXT}`]);
  });

  describeCheck('is the first value that fits: the agent has refused the others', async () => {
    assert.equal((await outputOf(AS_TEXT, gave({ degrees: 'x' }, true), gave(VALUE)))[0], `text ${JSON_TEXT}`);
  });

  describeCheck('may be the last text of a model that made no such call', async () => {
    const fenced = `\`\`\`json\n{"degrees":\n -3}\n\`\`\``;
    for (const text of [JSON_TEXT, ` ${JSON_TEXT}\n`, fenced])
      assert.is(
        (await outputOf(AS_TEXT, textEvents('a', 'I look.'), textEvents('b', ...text)))[0],
        `text ${JSON_TEXT}`,
      );
  });

  describeCheck('is a refusal where there is no value that fits, whatever the agent says', async () => {
    const none = /^refusal The model gave no answer that fits the schema: the answer was not one JSON value$/;
    assert.match((await outputOf(AS_TEXT, textEvents('a', 'Cold.')))[0] ?? '', none);
    assert.match((await outputOf(AS_CALL))[0] ?? '', none);
    assert.match((await outputOf(AS_TEXT, gave({ degrees: 1.5 })))[0] ?? '', /^refusal .*\/degrees: /);
    assert.match((await outputOf(AS_TEXT, textEvents('a', '{"degrees":"x"}')))[0] ?? '', /^refusal .*\/degrees: /);
    assert.match((await outputOf(AS_TEXT, textEvents('a', '[1]')))[0] ?? '', /^refusal /);
  });

  describeCheck('is a refusal that says what the last value lacked', async () => {
    const refused = gave({ degrees: 'x' }, true);
    assert.match((await outputOf(AS_TEXT, textEvents('a', 'I look.'), refused))[0] ?? '', /^refusal .*\/degrees: /);
    assert.is((await outputOf(AS_TEXT, refused, textEvents('a', JSON_TEXT)))[0], `text ${JSON_TEXT}`);
    const { length } = await outputOf(AS_TEXT, gave(VALUE, true));
    assert.is(length, 1);
  });

  describeCheck('is a refusal where the value is nested too deeply to be written', async () => {
    const deep = `${'{"a":'.repeat(20_000)}{}${'}'.repeat(20_000)}`;
    const any = createSchemaCompiler()({ type: 'object' });
    const source = pollIterable(reporting(...textEvents('a', deep), ended()), createFakeClock());
    const kinds: string[] = [];
    for await (const { kind } of waitForEach(shapeOutput(source, AS_TEXT, any))) kinds.push(kind);
    assert.equal(kinds, ['refusal', 'end']);
  });

  describeCheck('is a permission request as it is, where the answer ends with one', async () => {
    const end = ended({ approvalRequests: [ASK] });
    const events = await shaped(AS_TEXT, textEvents('a', 'I look.'), textEvents('closing', 'Reply "approve".'), end);
    assert.equal(events, [...textEvents('structured', 'Reply "approve".'), end]);
  });

  describeCheck('fails as any other answer does', async () => {
    assert.equal(await shaped(AS_TEXT, textEvents('a', JSON_TEXT), failed()), [failed()]);
  });
});
