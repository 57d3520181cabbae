import * as assert from 'uvu/assert';
import { createNodeHash } from '../../../src/adapter/node/crypto.ts';
import { readHistory } from '../../../src/bridge/conversation/match.ts';
import { parseInput } from '../../../src/bridge/openai/responses/input.ts';
import { type DialogueEntry, parseToolResults, resultOf } from '../../../src/bridge/openai/tool-results.ts';
import { runAtOnce } from '../../../src/core/time-slices.ts';
import { describe } from '../../check.ts';

const words = (text: string) => [{ type: 'text' as const, text }];
const user = (text: string): DialogueEntry => ({ role: 'user', parts: words(text) });
const calling = (...callIDs: readonly string[]): DialogueEntry => {
  const [part] = words('[called look]');
  const calls = part === undefined ? [] : callIDs.map((callID) => ({ callID, part }));
  return { role: 'assistant', parts: calls.slice(0, 1).map((call) => call.part), calls };
};
const result = (callID: string | undefined, text: string): DialogueEntry => {
  const parts = words(`[look returned]\n${text}`);
  return { role: 'assistant', parts, ...resultOf(callID, words(text), parts) };
};

describe('the results at the end of a request', (check) => {
  check('are those after the calls, and what the user says after them', () => {
    const found = parseToolResults([user('One'), calling('c1', 'c2'), result('c1', 'rain'), result('c2', 'noon')]);
    assert.equal(found?.results, [
      { callID: 'c1', output: 'rain' },
      { callID: 'c2', output: 'noon' },
    ]);
    assert.equal(found?.history, [
      { role: 'user', text: 'One' },
      { role: 'assistant', text: '[called look]', words: '', calls: ['c1\n[called look]', 'c2\n[called look]'] },
    ]);
    assert.equal([found?.after, found?.files], [[], []]);
    assert.equal(parseToolResults([calling('c1'), result('c1', 'rain'), user('Go on')])?.after, words('Go on'));
  });

  check('may be those of calls before as well, where each follows its call', () => {
    const alternating = [calling('c1'), result('c1', 'rain'), calling('c2'), result('c2', 'noon')];
    const found = parseToolResults([user('One'), ...alternating]);
    const [first, last] = ['c1\n[look returned]\nrain', 'c2\n[look returned]\nnoon'];
    assert.equal(
      [found?.results, found?.withheld, found?.calls],
      [[{ callID: 'c2', output: 'noon' }], [first], [first, last]],
    );
    assert.equal(
      found?.earlier.map(({ callID, output }) => [callID, output]),
      [['c1', 'rain']],
    );
    const answer: DialogueEntry = { role: 'assistant', parts: words('So.') };
    const apart = parseToolResults([calling('c1'), result('c1', 'rain'), answer, calling('c2'), result('c2', 'noon')]);
    assert.equal([apart?.earlier, apart?.withheld, apart?.calls], [[], [], [last]]);
  });

  check(
    'are looked for in a long list of calls and results without reading each result once more for every form',
    () => {
      const ids = Array.from({ length: 40 }, (_, index) => `c${index}`);
      const steps = ids.flatMap((id) => [calling(id), result(id, 'x'.repeat(10_000))]);
      const found = parseToolResults([user('One'), ...steps]);
      let chars = 0;
      const countingHash = () => {
        const { add, end } = createNodeHash();
        const count = (text: string): void => {
          chars += text.length;
          add(text);
        };
        return { add: count, end };
      };
      const { others } = runAtOnce(readHistory(found?.history ?? [], countingHash, found?.withheld));
      assert.is(others.length, ids.length - 1);
      assert.ok(chars < 2 * 10_000 * ids.length, `${chars} characters`);
      const calls = parseToolResults([user('One'), ...ids.map((id) => calling(id)), ...steps.slice(-1)]);
      assert.equal(
        others.at(-1)?.fingerprint,
        runAtOnce(readHistory(calls?.history ?? [], createNodeHash)).fingerprint,
      );
    },
  );

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
