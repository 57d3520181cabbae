import * as assert from 'uvu/assert';
import { createCompletion } from '../../../../src/bridge/openai/completions.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import {
  ASK,
  ended,
  failed,
  type Reported,
  ranTool,
  reporting,
  textEvents,
  thought,
} from '../../harness/recorded-outputs.ts';

const FACTS = { id: 'cmpl-1', model: 'acme/small', createdSeconds: 1_700_000_000, fingerprint: 'fp_1' };
const answer = (...outputEvents: readonly Reported[]) => createCompletion(reporting(...outputEvents), FACTS);

describe('a completion in one piece', (check) => {
  check('has the text of the whole turn, without reasoning and calls, and what it cost', async () => {
    const output = [thought('r', 'Hm.'), textEvents('a', 'I look.'), ranTool('search'), textEvents('b', 'Five.')];
    assert.equal(await answer(...output, ended({ finish: 'length' })), {
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_700_000_000,
      model: 'acme/small',
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      choices: [{ index: 0, text: 'I look.\n\nFive.', logprobs: null, finish_reason: 'length' }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 7,
        total_tokens: 37,
        prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  check('names the questions that it ends with', async () => {
    const { gatehouse } = await answer(textEvents('a', 'May I?'), ended({ approvalRequests: [ASK] }));
    assert.is(gatehouse?.approvals[0]?.id, 'per_0198abcd');
  });

  check('that fails is a fault', async () => {
    assert.instance(await rejection(answer(textEvents('a', 'Hel'), failed())), Fault);
  });
});
