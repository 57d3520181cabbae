import * as assert from 'uvu/assert';
import { parseInput } from '../../../src/bridge/openai/responses/input.ts';
import { type DialogueEntry, parseToolResults } from '../../../src/bridge/openai/tool-results.ts';
import { describe } from '../../check.ts';

const words = (text: string) => [{ type: 'text' as const, text }];
const user = (text: string): DialogueEntry => ({ role: 'user', parts: words(text) });
const calling = (...callIDs: readonly string[]): DialogueEntry => ({
  role: 'assistant',
  parts: words('[called look]'),
  callIDs,
});
const result = (callID: string | undefined, text: string): DialogueEntry => ({
  role: 'assistant',
  parts: words(`[look returned]\n${text}`),
  output: { callID, parts: words(text) },
});

describe('the results at the end of a request', (check) => {
  check('are those after the calls, and what the user says after them', () => {
    const found = parseToolResults([user('One'), calling('c1', 'c2'), result('c1', 'rain'), result('c2', 'noon')]);
    assert.equal(found?.results, [
      { callID: 'c1', output: 'rain' },
      { callID: 'c2', output: 'noon' },
    ]);
    assert.equal(found?.history, [
      { role: 'user', text: 'One' },
      { role: 'assistant', text: '[called look]', callIDs: ['c1', 'c2'] },
    ]);
    assert.equal([found?.after, found?.files], [[], []]);
    assert.equal(parseToolResults([calling('c1'), result('c1', 'rain'), user('Go on')])?.after, words('Go on'));
  });

  check('are none after another answer, or where no call is named', () => {
    const answer: DialogueEntry = { role: 'assistant', parts: words('It rains.') };
    assert.is(parseToolResults([calling('c1'), result('c1', 'rain'), answer, user('Thanks')]), undefined);
    assert.is(parseToolResults([calling(), result(undefined, 'rain')]), undefined);
    assert.is(parseToolResults([user('One')]), undefined);
  });

  check('have their files beside them', () => {
    const file = { type: 'file' as const, mime: 'image/png', url: 'data:image/png;base64,AAAA' };
    const given: DialogueEntry = { role: 'assistant', parts: [file], output: { callID: 'c1', parts: [file] } };
    const found = parseToolResults([calling('c1'), given]);
    assert.equal([found?.files, found?.results], [[file], [{ callID: 'c1', output: '[files, which follow]' }]]);
  });

  check('have no history where the client names a response in place of it', () => {
    const { toolResults } = parseInput([
      { type: 'item_reference', id: 'msg_0_resp_ses_1_token' },
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
    ]);
    assert.equal([toolResults?.history, toolResults?.results], [[], [{ callID: 'c1', output: 'rain' }]]);
  });
});
