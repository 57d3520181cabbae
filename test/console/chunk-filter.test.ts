import * as assert from 'uvu/assert';
import { createChunkFilter } from '../../src/console/services/chunk-filter.ts';
import { createSecretFilter } from '../../src/console/services/secret-filter.ts';
import { describe } from '../check.ts';

const SECRETS = ['canary-key-1234', 'canary"quoted"', 'key-1234567890'];
const piece = (text: string, member = 'content'): string =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { [member]: text }, finish_reason: null }] });
const END = JSON.stringify({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });

/** What is sent for a stream, and the text that a page reads in it. */
const filtered = (...events: readonly string[]) => {
  const { take, end } = createChunkFilter(createSecretFilter(SECRETS));
  const sent = [...events.flatMap(take), ...end()];
  const textOf = (member: string): string =>
    sent.map((data) => (data === '[DONE]' ? '' : (JSON.parse(data).choices?.[0]?.delta[member] ?? ''))).join('');
  return { sent, content: textOf('content'), thought: textOf('reasoning_content') };
};

describe('the stream of a chat', (check) => {
  for (const size of [1, 2, 3, 7, 100])
    check(`holds no secret that comes in pieces of ${size} characters`, () => {
      for (const secret of SECRETS) {
        const said = `a ${secret}, ca, canary-key-12 and ${secret}${secret}`;
        const pieces = said.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? [];
        const { content, sent } = filtered(...pieces.map((text) => piece(text)), END, '[DONE]');
        assert.is(content, 'a [redacted], ca, canary-key-12 and [redacted][redacted]');
        assert.equal(sent.slice(-2), [END, '[DONE]']);
      }
    });

  check('has what was thought and what was said apart, and each in its place', () => {
    const { content, thought, sent } = filtered(piece('canary-', 'reasoning_content'), piece('key-1234'), END);
    assert.equal([thought, content], ['canary-', 'key-1234']);
    assert.ok(sent.findIndex((data) => data.includes('canary-')) < sent.findIndex((data) => data.includes('key-')));
  });

  check('is passed on at once where no secret begins, and unchanged', () => {
    const { take } = createChunkFilter(createSecretFilter(SECRETS));
    for (const data of [piece('Hello'), piece('', 'content'), END, '{"choices":[]}', 'no JSON'])
      assert.equal(take(data), [data]);
  });

  check('ends with all of its text, also where that may begin a secret', () => {
    assert.is(filtered(piece('the canary-')).content, 'the canary-');
    assert.is(filtered(piece('the canary-'), '{"error":{"message":"no"}}').content, 'the canary-');
  });
});
