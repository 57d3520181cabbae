import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { codePoint } from '../../../code-points.ts';
import { errorResponse, REFUSAL } from './world.ts';

const bytesOf = async (response: Response): Promise<number> => (await response.arrayBuffer()).byteLength;
const messageOf = async (response: Response): Promise<string> => (await response.json()).error.message;
const notFound = (hint: string): Response => errorResponse({ kind: 'not-found', hint });

describe('the wait that is asked for', (check) => {
  const waits: readonly (readonly [number, string])[] = [
    [-5000, '1'],
    [0, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [29_999.5, '30'],
    [120_000, '120'],
    [120_001, '120'],
    [3_600_000, '120'],
    [Number.POSITIVE_INFINITY, '120'],
  ];
  for (const [retryAfterMs, seconds] of waits) {
    check(`is ${seconds} s for ${retryAfterMs} ms`, () => {
      for (const kind of ['rate-limited', 'overloaded', 'no-backend-key'] as const) {
        assert.is(errorResponse({ kind, retryAfterMs }).headers.get('retry-after'), seconds, kind);
      }
    });
  }

  check('over 30 s asks the client not to retry, up to 30 s leaves it to the client', () => {
    const advice = (retryAfterMs: number) =>
      errorResponse({ kind: 'no-backend-key', retryAfterMs }).headers.get('x-should-retry');
    assert.equal([0, 1000, 30_000].map(advice), [null, null, null]);
    assert.equal([30_001, 31_000, 120_000, 3_600_000].map(advice), ['false', 'false', 'false', 'false']);
  });

  check('for a place or for the next minute is never called hopeless', () => {
    for (const kind of ['rate-limited', 'overloaded'] as const) {
      assert.is(errorResponse({ kind, retryAfterMs: 60_000 }).headers.get('x-should-retry'), null, kind);
    }
  });
});

describe('the body of an error', (check) => {
  const names = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);

  for (const [what, name] of [
    ['ASCII', 'a-model-with-quite-a-long-name-of-its-own-'],
    ['three-byte', '模型名字很长很长很长很长很长很长很长'],
    ['four-byte', '😀😀😀😀😀😀😀😀😀😀'],
    ['escaped', '"\\\n\u0001'],
  ] as const) {
    check(`stays within 512 bytes with 100 long model names in ${what} characters, and uses them`, async () => {
      const response = errorResponse({ kind: 'model-not-found', valid: names(100, name) });
      const text = await response.clone().text();
      const bytes = await bytesOf(response.clone());
      assert.ok(bytes <= 512, `${bytes} bytes`);
      assert.ok(bytes > 490, `${bytes} bytes`);
      const { error } = JSON.parse(text);
      assert.ok(error.message.startsWith(`No such model. Valid models: ${name}0`));
      assert.ok(error.message.endsWith('...'));
      assert.is(error.message, error.message.toWellFormed());
      assert.equal([error.code, error.param], ['model_not_found', 'model']);
    });
  }

  check('never ends in half a character, wherever the cut falls', async () => {
    for (let before = 0; before < 64; before++) {
      const message = await messageOf(notFound('x'.repeat(before) + '😀'.repeat(120 + before)));
      assert.ok(message.endsWith('...'));
      assert.is(message, message.toWellFormed());
    }
  });

  check('is left whole at 512 bytes and cut at 513', async () => {
    const frame = await bytesOf(notFound(''));
    const whole = 'x'.repeat(512 - frame);
    assert.is(await bytesOf(notFound(whole)), 512);
    assert.is(await messageOf(notFound(whole)), whole);
    assert.is(await bytesOf(notFound(`${whole}x`)), 512);
    assert.is(await messageOf(notFound(`${whole}x`)), `${whole.slice(0, -3)}...`);
  });

  check('survives a message of a million characters', async () => {
    assert.ok((await bytesOf(notFound('多'.repeat(1_000_000)))) <= 512);
  });

  check('still comes when what may not be cut is too long by itself', async () => {
    const param = `input${'[0]'.repeat(300)}`;
    const response = errorResponse({ kind: 'bad-input', code: 'invalid_type', param, message: 'Expected a string' });
    const { error } = await response.json();
    assert.equal([error.message, error.param], ['...', param]);
  });

  const words = fc.string({
    unit: fc.oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 1 }),
      fc.constantFrom('\ud83d', '\ude00', '"', '\u0000'),
    ),
    maxLength: 700,
  });
  check('never exceeds 512 bytes, is always JSON, and cuts only what is too long', async () => {
    await fc.assert(
      fc.asyncProperty(words, async (hint) => {
        const text = await notFound(hint).text();
        assert.ok(new TextEncoder().encode(text).length <= 512);
        const { message } = JSON.parse(text).error;
        if (message === hint) return;
        assert.ok(message.endsWith('...'));
        const asWhole = JSON.stringify({ error: { message: hint, type: REFUSAL, param: null, code: 'not_found' } });
        assert.ok(new TextEncoder().encode(asWhole).length > 512);
      }),
      { numRuns: 300 },
    );
  });
});
