import * as assert from 'uvu/assert';
import { createChatCompletion } from '../../../../src/bridge/openai/chat/response.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import {
  ended,
  FAILURE,
  failed,
  type Reported,
  ranTool,
  reporting,
  textEvents,
} from '../../harness/recorded-outputs.ts';

const FACTS = { id: 'chatcmpl-1', model: 'acme/small', createdSeconds: 1_700_000_000, fingerprint: 'fp_1' };
const answer = (...outputEvents: readonly Reported[]) => createChatCompletion(reporting(...outputEvents), FACTS);

describe('a chat completion in one piece', (check) => {
  check('reports the conversation, and what it cost', async () => {
    assert.equal(await answer(textEvents('a', 'Hel', 'lo'), ended()), {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'acme/small',
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 7,
        total_tokens: 37,
        prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  check('keeps texts apart by a blank line, and leaves out the calls between them', async () => {
    const { choices } = await answer(
      textEvents('a', 'I look.'),
      ranTool('search'),
      textEvents('b', 'Found', ' it.'),
      ended(),
    );
    assert.is(choices[0]?.message.content, 'I look.\n\nFound it.');
    assert.not.ok('tool_calls' in (choices[0]?.message ?? {}));
  });

  check('that fails is a fault that is not retryable', async () => {
    const thrown = await rejection(answer(textEvents('a', 'Hel'), failed()));
    assert.instance(thrown, Fault);
    assert.equal((thrown as Fault).detail, { kind: 'agent-failed', ...FAILURE, isRetryable: false });
  });

  check('without a last word is a bug', async () => {
    assert.match(String(await rejection(answer(textEvents('a', 'Hel')))), 'ended without `end` or `failure`');
  });
});
