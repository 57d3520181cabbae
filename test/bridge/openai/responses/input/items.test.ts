import * as assert from 'uvu/assert';
import { parseInput } from '../../../../../src/bridge/openai/responses/input.ts';
import { textOfParts } from '../../../../../src/bridge/request.ts';
import { Fault } from '../../../../../src/core/fault.ts';
import { describe } from '../../../../check.ts';
import { refusalOf } from '../../../harness/recorded-outputs.ts';
import { responseID } from '../world.ts';
import { assistant, user, words } from './world.ts';

const refused = (input: unknown) => refusalOf(() => parseInput(input));
const historyOf = (...items: unknown[]) => parseInput([...items, user('Go on')]).history;
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'JVBERi0xLjc=';

const saying = (text: string) => (error: unknown) =>
  error instanceof Fault && error.detail.kind === 'bad-input' && String(error.detail.message).includes(text);

describe("the items of a request's input", (check) => {
  check('are one message where they are a text', () => {
    assert.equal(parseInput('Hello'), {
      system: '',
      history: [],
      prompt: words('Hello'),
      prefill: '',
      toolResults: undefined,
      approvals: undefined,
      previousResponse: undefined,
      unknownItemAt: undefined,
    });
  });

  check('are the conversation before, and what the user says since', () => {
    const { history, prompt } = parseInput([
      user('One'),
      assistant([{ type: 'output_text', text: 'Two', annotations: [] }], { id: 'msg_1', status: 'completed' }),
      user([{ type: 'input_text', text: 'Three' }]),
      { type: 'message', role: 'user', content: 'Four' },
    ]);
    assert.equal(history, [
      { role: 'user', text: 'One' },
      { role: 'assistant', text: 'Two' },
    ]);
    assert.equal(prompt, words('Three\n\nFour'));
  });

  check('hold images and files that came along', () => {
    const { prompt } = parseInput([
      user([
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: PIXEL, detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: PDF },
      ]),
    ]);
    assert.equal(prompt, [
      { type: 'text', text: 'Look' },
      { type: 'file', at: 'input[0].content[1].image_url', mime: 'image/png', url: PIXEL },
      {
        type: 'file',
        at: 'input[0].content[2]',
        mime: 'application/pdf',
        url: `data:application/pdf;base64,${PDF}`,
        filename: 'a.pdf',
      },
    ]);
    assert.is(
      refused([user([{ type: 'input_image', image_url: 'https://a.test/b.png' }])]),
      'image_url_unsupported at input[0].content[0].image_url',
    );
    assert.is(
      refused([user([{ type: 'input_file', file_id: 'file-1' }])]),
      'unsupported_value at input[0].content[0].file_id',
    );
  });

  check("describe what a client's own tools did", () => {
    const history = historyOf(
      user('Weather?'),
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Rain' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'note', input: 'umbrella' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'Kept' }] },
      { type: 'function_call_output', output: 'Stray' },
      assistant('It rains.'),
    );
    assert.equal(history, [
      { role: 'user', text: 'Weather?' },
      {
        role: 'assistant',
        text: [
          '[called weather with {"city":"Oslo"}]',
          '[weather returned]\nRain',
          '[called note with umbrella]',
          '[note returned]\nKept',
          '[a tool returned]\nStray',
          'It rains.',
        ].join('\n\n'),
        calls: [
          'c1\n[called weather with {"city":"Oslo"}]',
          'c1\n[weather returned]\nRain',
          'c2\n[called note with umbrella]',
          'c2\n[note returned]\nKept',
        ],
        words: '[a tool returned]\nStray\n\nIt rains.',
      },
    ]);
  });

  check('describe calls of other servers, and leave out our own, which the agent knows', () => {
    const call = { type: 'mcp_call', name: 'find', arguments: '{}', server_label: 'x', output: 'Found' };
    assert.equal(
      historyOf(user('One'), { ...call, id: 'mcp_1' })[1]?.text,
      '[called find with {}]\n\n[find returned]\nFound',
    );
    const failed = { ...call, id: 'mcp_1', output: null, error: { type: 'http_error', code: 500, message: 'no' } };
    assert.match(historyOf(user('One'), failed)[1]?.text ?? '', '"message":"no"');
    assert.equal(historyOf(user('One'), { ...call, id: `mcp_1_${responseID()}` }, assistant('Yes'))[1]?.text, 'Yes');
  });

  check('report other hosted tools as JSON, within bounds', () => {
    const call = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'x'.repeat(20_000) } };
    const text = historyOf(user('One'), call)[1]?.text ?? '';
    assert.ok(text.startsWith('[web_search_call]\n{"action":{"query":"xxx'));
    assert.ok(text.length < 8100);
  });

  check('leave out reasoning and what only its server can read, without joining what the user said around it', () => {
    const silent = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'mcp_list_tools', server_label: 'x', tools: [] },
    ];
    assert.equal(historyOf(user('One'), ...silent), [
      { role: 'user', text: 'One' },
      { role: 'assistant', text: '' },
    ]);
  });

  check('hold the texts of one answer as one, as a client puts them together', () => {
    const reported = historyOf(user('One'), assistant('I look.'), assistant('\n\nFive.'));
    assert.is(reported[1]?.text.replace(/\s+/g, ' '), 'I look. Five.');
  });

  check('are refused without anything to answer', () => {
    assert.is(refused([]), 'empty_array at input');
    for (const nothing of [undefined, null]) {
      assert.is(refused(nothing), 'missing_required_parameter at input');
      assert.throws(() => parseInput(nothing), saying("it is what is answered, also where 'instructions' are sent"));
    }
    assert.is(refused(''), 'invalid_value at input');
    assert.is(refused([user(' ')]), 'invalid_value at input');
    assert.is(refused([{ role: 'system', content: ' ' }]), 'invalid_value at input');
    assert.is(refused([assistant('Two')]), 'unsupported_value at input[0]');
    const call = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' };
    assert.is(refused([user('One'), call]), 'unsupported_value at input[1]');
    assert.throws(
      () => parseInput([user('One'), call]),
      saying("no message of the user, instruction or result of a call up to 'input[1]'"),
    );
    assert.is(refused([user('One'), { type: 'reasoning', id: 'rs_1', summary: [] }]), 'unsupported_value at input[1]');
  });

  check('that are instructions alone are the prompt', () => {
    const { system, prompt } = parseInput([{ role: 'developer', content: 'Write a haiku.' }]);
    assert.equal([system, textOfParts(prompt)], ['', 'Write a haiku.']);
    const items = [{ role: 'system', content: 'Be brief.' }, user('One'), assistant('Two')];
    const later = parseInput([...items, { role: 'system', content: 'Sum up.' }]);
    assert.equal([later.system, textOfParts(later.prompt), later.history.length], ['Be brief.', 'Sum up.', 2]);
  });

  check('may end with the beginning of the answer', () => {
    const thinking = { type: 'reasoning', id: 'rs_1', summary: [] };
    const { history, prompt, prefill } = parseInput([user('One'), thinking, assistant('Once upon')]);
    assert.equal([history, textOfParts(prompt), prefill], [[], 'One', 'Once upon']);
  });

  check('may end with what a tool of the client has returned', () => {
    const output = { type: 'function_call_output', call_id: 'c1', output: 'Rain' };
    const call = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' };
    assert.is(textOfParts(parseInput([user('Weather?'), call, output]).prompt), '[weather returned]\nRain');
    assert.is(textOfParts(parseInput([output]).prompt), '[a tool returned]\nRain');
    assert.is(textOfParts(parseInput([user('Weather?'), call, output, user('And?')]).prompt), 'And?');
  });

  check('are refused where they are of a wrong shape, with their place', () => {
    assert.is(refused(['One']), 'invalid_type at input[0]');
    assert.is(refused([user('One'), { role: 'robot', content: 'x' }]), 'invalid_value at input[1].role');
    assert.is(refused([user(3)]), 'invalid_type at input[0].content');
    assert.is(refused([{ type: 'mystery' }, user('One')]), 'invalid_value at input[0].type');
    assert.is(refused([{ type: 3 }, user('One')]), 'invalid_value at input[0].type');
    assert.is(
      refused([{ type: 'function_call', call_id: 'c1' }, user('x')]),
      'missing_required_parameter at input[0].name',
    );
    assert.is(refused([{ type: 'item_reference' }, user('x')]), 'missing_required_parameter at input[0].id');
  });

  check('may be very many', () => {
    const parts = Array.from({ length: 200_000 }, () => ({ type: 'input_text', text: 'a' }));
    const { history } = parseInput([user(parts), user(parts), assistant('Yes'), user('Go on')]);
    assert.is(history[0]?.text.length, 400_000 * 3 - 2);
  });
});
