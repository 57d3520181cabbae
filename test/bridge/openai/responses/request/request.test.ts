import * as assert from 'uvu/assert';
import { NO_ECHO } from '../../../../../src/bridge/openai/responses/echo.ts';
import { parseResponsesRequest } from '../../../../../src/bridge/openai/responses/request.ts';
import { describe } from '../../../../check.ts';
import { inShort, responseID } from '../world.ts';
import { asked, refused, refusedWith } from './world.ts';

describe('a request for a response', (check) => {
  check('says what it wishes for', () => {
    const made = asked({ model: 'acme/small', stream: true, reasoning: { effort: 'high' }, store: false });
    assert.equal(
      [made.model, made.isStreamed, made.effort, made.isStored, made.echo.reasoning.effort, made.echo.store],
      ['acme/small', true, 'high', false, 'high', false],
    );
  });

  check('puts its instructions before those among its items', () => {
    const input = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hello' },
      { role: 'developer', content: [{ type: 'input_text', text: 'Be exact.' }] },
    ];
    const { system, input: told } = asked({ instructions: 'Be brief.', input });
    assert.is(system, 'Be brief.\n\nBe kind.\n\nBe exact.');
    assert.equal(inShort(told), [{ role: 'user', text: 'Hello' }]);
    assert.is(asked({ instructions: ' ' }).system, '');
  });

  check('keeps for its response what that says again', () => {
    const { echo } = asked({ instructions: 'Be brief.', metadata: { a: 'b', count: 3 }, conversation: 'one' });
    assert.equal(echo, {
      ...NO_ECHO,
      instructions: 'Be brief.',
      metadata: { a: 'b', count: '3' },
      conversation: { id: 'one' },
    });
    assert.is(asked({ previous_response_id: 'resp_1' }).echo.previous_response_id, 'resp_1');
  });

  const { text: _text, reasoning: _reasoning, ...NO_VALUES } = NO_ECHO;
  check('keeps the values that its response repeats, and counts one of a wrong type as not sent', () => {
    const repeatedOf = (more: Record<string, unknown>) => asked(more).echo;
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const format = { type: 'json_schema', name: 'place', schema, strict: true };
    const { text, reasoning, ...values } = repeatedOf({
      temperature: 0.2,
      max_output_tokens: 64,
      truncation: 'auto',
      tools: [{ type: 'function', name: 'look', parameters: schema }],
      tool_choice: 'none',
      parallel_tool_calls: false,
      reasoning: { effort: 'low', summary: 'detailed' },
      text: { format, verbosity: 'low' },
      user: 7,
    });
    assert.equal(text, { format: { ...format, description: null }, verbosity: 'low' });
    assert.equal(reasoning, { effort: 'low', summary: 'detailed' });
    assert.equal(values, {
      ...NO_VALUES,
      max_output_tokens: 64,
      parallel_tool_calls: false,
      temperature: 0.2,
      tool_choice: 'none',
      tools: [{ description: null, parameters: schema, strict: null, type: 'function', name: 'look' }],
      truncation: 'auto',
    });
  });

  check('keeps no access to a remote server of tools for its response', () => {
    const server = { type: 'mcp', server_label: 'shop', server_url: 'https://shop.example.org' };
    const tools = [{ ...server, authorization: 'secret-1', headers: { 'x-key': 'secret-2' } }];
    assert.equal(asked({ tools }).echo.tools, [server]);
  });

  check('needs no input where it goes on with something', () => {
    const previous_response_id = responseID();
    for (const input of [undefined, null, '', ' ', []]) {
      const {
        input: asked,
        conversation,
        history,
      } = parseResponsesRequest({ input, previous_response_id }, new Headers());
      assert.equal([inShort(asked), history], [[{ role: 'user', text: 'Continue.' }], []]);
      assert.is(conversation.kind, 'after');
      assert.is(parseResponsesRequest({ input, conversation: 'desk' }, new Headers()).input.length, 1);
      assert.match(refused({ input, instructions: 'Be brief.' }), 'input');
      assert.match(refused({ input, conversation: ' ' }), 'input');
    }
    for (const input of [3, false, {}]) assert.is(refused({ input, previous_response_id }), 'invalid_type at input');
  });

  check('is refused where something is of a wrong type, with its place', () => {
    assert.is(refused('Hello'), 'invalid_type at null');
    assert.is(refused([]), 'invalid_type at null');
    assert.is(refused({}), 'missing_required_parameter at input');
    assert.is(refusedWith({ input: null }), 'missing_required_parameter at input');
    assert.is(refusedWith({ input: 3 }), 'invalid_type at input');
    assert.is(refusedWith({ model: 3 }), 'invalid_type at model');
    assert.is(refusedWith({ stream: 'yes' }), 'invalid_type at stream');
    assert.is(refusedWith({ store: 1 }), 'invalid_type at store');
    assert.is(refusedWith({ instructions: ['Be brief'] }), 'invalid_type at instructions');
    assert.is(refusedWith({ reasoning: { effort: 3 } }), 'invalid_type at reasoning.effort');
    assert.is(refusedWith({ metadata: { a: {} } }), 'invalid_type at metadata.a');
    assert.is(refusedWith({ conversation: 3 }), 'invalid_type at conversation');
    assert.is(refusedWith({ previous_response_id: {} }), 'invalid_type at previous_response_id');
  });

  check('is refused where it needs what is not done here', () => {
    assert.is(refusedWith({ background: true, store: false }), 'unsupported_value at background');
    assert.is(refusedWith({ prompt: { id: 'pmpt_1' } }), 'unsupported_value at prompt');
    for (const choice of ['required', { type: 'function', name: 'f' }, { type: 'allowed_tools', mode: 'required' }])
      assert.is(refusedWith({ tool_choice: choice }), 'unsupported_value at tool_choice');
    assert.equal(asked({ background: false, tool_choice: 'auto' }), asked({}));
  });

  check('does not report what asks for nothing', () => {
    const neutral = {
      include: [],
      parallel_tool_calls: true,
      prompt_cache_retention: '24h',
      safety_identifier: 'someone',
      service_tier: 'auto',
      stream_options: { include_obfuscation: false },
      temperature: 1,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'none',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: 'someone',
    };
    assert.equal(asked(neutral).ignored, []);
  });
});
