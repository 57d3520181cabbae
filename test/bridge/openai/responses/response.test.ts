import type OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { repeatedMembers } from '../../../../src/bridge/openai/responses/echo.ts';
import { callItem, messageItem, reasoningItem } from '../../../../src/bridge/openai/responses/items.ts';
import {
  type ResponseObject,
  type ResponseState,
  toResponseObject,
} from '../../../../src/bridge/openai/responses/response.ts';
import { describe } from '../../../check.ts';
import { COST, FAILURE } from '../../harness/recorded-outputs.ts';
import { callOf, NOW_SECONDS, startOf } from './world.ts';

const MADE = { status: 'in_progress' } as const;
const OUTPUT = [
  reasoningItem('rs_0', 'Hm', 'completed'),
  callItem('mcp_1', callOf('c', 'bash'), { output: 'ok', isError: false }),
  callItem('mcp_2', callOf('c', 'bash'), { output: 'bad', isError: true }),
  messageItem('msg_3', 'Hello', 'completed'),
];
const END = { finish: 'stop', usage: COST, approvalRequests: [] } as const;
const ended = (more: object = {}): ResponseObject =>
  toResponseObject(startOf(), OUTPUT, { end: { ...END, ...more }, endedSeconds: NOW_SECONDS + 5 });

type Writable<T> = T extends readonly (infer Item)[]
  ? Writable<Item>[]
  : T extends object
    ? { -readonly [Name in keyof T]: Writable<T[Name]> }
    : T;
/** Codes of errors are not OpenAI's, and what a client has sent is repeated unchecked. `output_text` is made by the client. */
type Repeated = 'reasoning' | 'text' | 'tools' | 'tool_choice' | 'prompt_cache_retention' | 'truncation' | 'user';
type Sent = Omit<OpenAI.Responses.Response, 'output_text' | 'error' | Repeated>;

/** What OpenAI's types ask of a response. */
const asOpenAI = ({ error: _, ...sent }: Omit<Writable<ResponseObject>, Repeated>): Sent => sent;

describe('a response', (check) => {
  check("has every member that OpenAI's types ask for", () => {
    const states: ResponseState[] = [MADE, { end: END, endedSeconds: 1 }, { failure: FAILURE }];
    for (const state of states) {
      const made = toResponseObject(startOf(), OUTPUT, state);
      assert.is(asOpenAI(made as Writable<ResponseObject>).object, 'response');
      // A member without a value is one that is not sent.
      for (const [name, value] of Object.entries(made)) assert.is.not(value, undefined, name);
    }
  });

  check('says again what its request said', () => {
    const echo = {
      metadata: { a: 'b' },
      previous_response_id: 'resp_0',
      conversation: { id: 'one' },
      ...repeatedMembers({
        store: false,
        instructions: 'Be brief',
        reasoning: { effort: 'high' },
        temperature: 0.5,
        text: { format: { type: 'json_object' } },
        tool_choice: 'none',
      }),
    };
    const made = toResponseObject(startOf({ echo }), [], MADE);
    assert.equal(
      [
        made.instructions,
        made.metadata,
        made.previous_response_id,
        made.conversation,
        made.reasoning,
        made.store,
        made.text,
        [made.temperature, made.tool_choice, made.truncation],
      ],
      [
        'Be brief',
        { a: 'b' },
        'resp_0',
        { id: 'one' },
        { effort: 'high', summary: null },
        false,
        { format: { type: 'json_object' }, verbosity: 'medium' },
        [0.5, 'none', 'disabled'],
      ],
    );
    assert.is(ended().conversation, null);
  });

  check('reports what it cost once it has ended', () => {
    const made = ended() as Record<string, unknown>;
    assert.equal(made.usage, {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 37,
    });
    assert.equal([made.status, made.created_at, made.completed_at], ['completed', NOW_SECONDS, NOW_SECONDS + 5]);
    assert.not('usage' in toResponseObject(startOf(), [], MADE));
  });

  check('says why it is incomplete', () => {
    for (const [finish, reason] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ]) {
      const made = ended({ finish }) as Record<string, unknown>;
      assert.equal([made.status, made.incomplete_details], ['incomplete', { reason }]);
      assert.not('completed_at' in made);
    }
    assert.is(ended().incomplete_details, null);
  });
});

describe('a call of a tool at the agent', (check) => {
  const labelOf = (name: string) => callItem('mcp_0', callOf('c', name), undefined).server_label;

  check("is reported under its server's label, and as the agent's own where it has none", () => {
    assert.equal(
      [labelOf('relay-admin_list_users'), labelOf('bash'), labelOf('_odd')],
      ['relay-admin', 'agent', 'agent'],
    );
  });

  check('has its output, or an error in place of it', () => {
    const done = callItem('mcp_0', callOf('c', 'bash'), { output: 'ok', isError: false });
    assert.equal([done.status, done.output, done.error], ['completed', 'ok', null]);
    const failed = callItem('mcp_0', callOf('c', 'bash'), { output: 'bad', isError: true });
    const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'bad' }] };
    assert.equal([failed.status, failed.output, failed.error], ['failed', null, error]);
    const going = callItem('mcp_0', callOf('c', 'bash'), undefined);
    assert.equal([going.status, going.output, going.error], ['in_progress', null, null]);
  });

  check('has arguments that can be parsed even where they were cut off', () => {
    const cut = callItem('mcp_0', { id: 'c', name: 'bash', input: '{"command":"l' }, undefined);
    assert.equal(JSON.parse(cut.arguments), { cut_off: '{"command":"l' });
    assert.is(callItem('mcp_0', callOf('c', 'bash', { a: 1 }), undefined).arguments, '{"a":1}');
  });
});
