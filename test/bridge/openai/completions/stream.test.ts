import * as assert from 'uvu/assert';
import { createCompletionEncoder } from '../../../../src/bridge/openai/completions.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { describe } from '../../../check.ts';
import { ASK, ended, failed, type Reported, ranTool, textEvents, thought } from '../../harness/recorded-outputs.ts';

const encoderOf = (includeUsage: boolean) =>
  createCompletionEncoder({
    ...{ id: 'cmpl-1', model: 'acme/small', createdSeconds: 1_700_000_000, fingerprint: 'fp_1' },
    includeUsage,
  });

/** The data of the events, parsed where it is JSON. */
const streamed = (outputEvents: readonly Reported[], includeUsage = false): readonly unknown[] => {
  const encoder = encoderOf(includeUsage);
  return outputEvents
    .flat()
    .flatMap((event) => encoder.eventsFor(event))
    .map((encoded) => ('data' in encoded && encoded.data !== '[DONE]' ? JSON.parse(encoded.data) : '[DONE]'));
};
const opening = {
  ...{ id: 'cmpl-1', object: 'text_completion', created: 1_700_000_000, model: 'acme/small' },
  ...{ service_tier: 'default', system_fingerprint: 'fp_1' },
};
const chunk = (text: string, finish: string | null = null) => ({
  ...opening,
  choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
});

describe('a streamed completion', (check) => {
  check('is its text in pieces, then why it ended', () => {
    const output = [thought('r', 'Hm.'), textEvents('a', 'I ', 'look.'), ranTool('search'), textEvents('b', 'Five.')];
    assert.equal(streamed([...output, ended()]), [
      chunk('I '),
      chunk('look.'),
      chunk('\n\nFive.'),
      chunk('', 'stop'),
      '[DONE]',
    ]);
  });

  check('ends with what it cost, if asked to', () => {
    const events = streamed([textEvents('a', 'Hi'), ended()], true);
    assert.equal(events[0], { ...chunk('Hi'), usage: null });
    const { choices, usage } = events[2] as { choices: readonly unknown[]; usage: { total_tokens: number } };
    assert.equal([choices, usage.total_tokens, events[3]], [[], 37, '[DONE]']);
  });

  check('names the questions that it ends with', () => {
    const [, last] = streamed([textEvents('a', 'May I?'), ended({ approvalRequests: [ASK] })]);
    assert.match(JSON.stringify(last), '"gatehouse":{"approvals":[{"id":"per_0198abcd"');
  });

  check('ends with the error of an answer that failed', async () => {
    const encoder = encoderOf(false);
    let error: unknown;
    try {
      encoder.eventsFor(failed());
    } catch (thrown) {
      error = thrown;
    }
    assert.instance(error, Fault);
    const [event] = await encoder.errorEvents(error);
    assert.match(JSON.stringify(event), 'model_error');
  });
});
