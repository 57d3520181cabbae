import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { CATEGORY_NAMES } from '../../../src/gateway/policy/categories.ts';
import { describe } from '../../check.ts';
import { HARMFUL, HIDDEN } from '../harness/attacks.ts';
import { judgedBy, parsePolicy } from '../harness/policies.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  nonceOf,
  received,
  replying,
  shownTextOf,
  userMessageOf,
} from '../harness/world.ts';

const SENTENCE = 'The river was calm and the boats lay still in the morning sun. ';
const lines = (chars: number): string => SENTENCE.repeat(Math.ceil(chars / SENTENCE.length)).slice(0, chars);
const honest: Answer = (sent) => judging(/kill you/.test(shownTextOf(sent)) ? { VI: 90 } : { HR: 10 })(sent);
const partOf = (sent: HttpRequest): string => /^Judge (.+?) between/.exec(userMessageOf(sent))?.[1] ?? '';
/** As much guidance as a policy file may hold. */
const longPolicy = parsePolicy(
  JSON.stringify({
    version: 'long',
    categories: Object.fromEntries(CATEGORY_NAMES.map((name) => [name, { guidance: '规则很长。'.repeat(100) }])),
  }),
);
const numbersOf = (sent: HttpRequest): { num_ctx: number; num_predict: number } =>
  (JSON.parse(sent.body ?? '') as { options: { num_ctx: number; num_predict: number } }).options;

describe('a long text', (check) => {
  check('is judged in overlapping windows that hold all of it', async () => {
    const { ask, calls } = gatewayOver(honest);
    const input = Array.from({ length: 9000 }, (_, index) => `word ${index}`)
      .join(' ')
      .slice(0, 90_000);
    const [result] = await resultsOf(await ask({ input }));
    assert.is(result?.scores.harassment, 0.1);
    assert.is(calls.length, 4);
    assert.equal(
      calls.map(partOf).sort(),
      [1, 2, 3, 4].map((part) => `part ${part} of 4 of a text`),
    );
    const shown = calls.map(shownTextOf);
    for (const text of shown) assert.ok(text.length <= 24_000 && input.includes(text));
    for (let start = 0; start + 500 <= input.length; start += 250) {
      const piece = input.slice(start, start + 500);
      assert.ok(
        shown.some((text) => text.includes(piece)),
        `the piece at ${start} stands whole in a window`,
      );
    }
    assert.is(new Set(calls.map(nonceOf)).size, 4);
  });

  const PLACES: Readonly<Record<string, (harm: string) => string>> = {
    'at the very end': (harm) => lines(99_000) + harm,
    'at the very beginning': (harm) => harm + lines(99_000),
    'in the exact middle': (harm) => lines(49_500) + harm + lines(49_500),
    'across the end of a window': (harm) => lines(24_000 - 10) + harm + lines(40_000),
    'after 15,000 characters': (harm) => lines(15_000) + harm,
  };
  for (const [name, place] of Object.entries(PLACES)) {
    check(`is flagged for one line ${name}, worst wins`, async () => {
      const { ask } = gatewayOver(honest);
      const [harmful] = await resultsOf(await ask({ input: place(`\n${HARMFUL}\n`) }));
      assert.equal([harmful?.flagged, harmful?.scores.violence], [true, 0.9]);
      const [harmless] = await resultsOf(await ask({ input: place('\nI will call you\n') }));
      assert.is(harmless?.flagged, false);
    });
  }

  check('takes the highest score of each category from whatever window has it', async () => {
    const { ask } = gatewayOver((sent) => {
      const part = Number(/part (\d)/.exec(partOf(sent))?.[1]);
      return judging({ HR: part * 10, VI: 90 - part * 10, [part === 2 ? 'SX' : 'HA']: 66 })(sent);
    });
    const [result] = await resultsOf(await ask({ input: lines(60_000) }));
    const { harassment, violence, sexual, hate, illicit } = result?.scores ?? {};
    assert.equal([harassment, violence, sexual, hate, illicit], [0.3, 0.8, 0.66, 0.66, 0]);
  });

  for (const [name, bad] of [
    ['has no verdict', (sent: HttpRequest) => replying(sent, '{}')],
    ['fails', () => received(500, '')],
  ] as const) {
    check(`fails whole when one window ${name}, and the other calls are given up`, async () => {
      const { ask, calls, clock } = gatewayOver((sent) =>
        partOf(sent).startsWith('part 2') ? bad(sent) : new Promise<never>(() => {}),
      );
      assert.is((await errorOf(await ask({ input: lines(90_000) }))).status, 502);
      const others = calls.filter((sent) => !partOf(sent).startsWith('part 2'));
      assert.is(others.length, 3);
      assert.ok(others.every(({ signal }) => signal.aborted));
      await clock.advance(0);
      assert.is(clock.pending(), 0);
    });
  }

  check('is one call up to the size of a window', async () => {
    const { ask, calls } = gatewayOver(honest, { variables: { MODERATION_WINDOW_CHARS: '500' } });
    await ask({ input: lines(500) });
    assert.equal(calls.map(partOf), ['the text']);
    await ask({ input: lines(501) });
    assert.is(calls.length, 3);
  });

  check('is asked about with a context that holds the densest window and the answer', async () => {
    for (const chars of [500, 24_000]) {
      const { ask, calls } = gatewayOver(honest, {
        variables: { MODERATION_WINDOW_CHARS: String(chars) },
        ...judgedBy(longPolicy),
      });
      const input = '𓀀'.repeat(chars / 2);
      await ask({ input });
      const { num_ctx, num_predict } = numbersOf(calls[0]!);
      const { messages } = JSON.parse(calls[0]?.body ?? '') as { messages: { content: string }[] };
      const promptBytes = new TextEncoder().encode(messages.map(({ content }) => content).join('')).length;
      // No token is less than a byte of the text or the guidance; our own English takes at least three bytes a token.
      const denseBytes = new TextEncoder().encode(input).length + 13 * 1500;
      const promptTokens = denseBytes + (promptBytes - denseBytes) / 3;
      assert.ok(num_ctx >= promptTokens + num_predict, `${num_ctx} for ${promptTokens} and ${num_predict}`);
    }
  });

  check('is asked about without leave to cut it', async () => {
    const { ask, calls } = gatewayOver(honest);
    await ask({ input: 'a' });
    const body = JSON.parse(calls[0]?.body ?? '') as Record<string, unknown>;
    assert.equal([body.stream, body.truncate, body.shift, body.think], [false, false, false, 'low']);
    assert.equal((body.format as { required: string[] }).required.length, 15);
  });
});

describe('a long text with something hidden in it', (check) => {
  check('is judged in the windows of both views', async () => {
    const { ask, calls } = gatewayOver(honest);
    const hidden = HIDDEN.base64?.(HARMFUL) ?? '';
    const [result] = await resultsOf(await ask({ input: `${lines(40_000)}\n${hidden}` }));
    assert.is(result?.flagged, true);
    assert.is(calls.length, 4);
  });
  check('has one cached verdict', async () => {
    const { ask, calls } = gatewayOver(honest);
    const input = `${lines(40_000)}\n${HIDDEN.hex?.(HARMFUL)}`;
    await ask({ input });
    const response = await ask({ input });
    assert.is(response.headers.get('x-moderation-cache'), 'hit');
    assert.is((await resultsOf(response))[0]?.flagged, true);
    assert.is(calls.length, 4);
  });
});
