import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { anyParts, anyText } from '../harness/any-text.ts';
import { pacedPieces, withoutEcho } from '../harness/polled.ts';
import {
  called,
  done,
  joined,
  outputText,
  receivedFrom,
  type Step,
  silentAfter,
  textEnd,
  thought,
  withText,
} from '../harness/scripted-log.ts';

const PROMPT = 'What is the height of Mount Rainier?';
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const filtered = async (prompt: string, steps: readonly Step[]) => {
  const clock = createFakeClock();
  const collected = await receivedFrom(withoutEcho(withText(clock, steps), prompt, clock), clock);
  assert.is(clock.pending(), 0);
  return collected;
};
const textOf = (outputEvents: readonly OutputEvent[]): string =>
  outputEvents.map((outputEvent) => (outputEvent.kind === 'text' ? outputEvent.text : '')).join('');
const answered = async (prompt: string, ...parts: readonly string[]): Promise<string> =>
  textOf(
    (await filtered(prompt, [...parts.map((part) => outputText(part)), textEnd(), done])).map(
      ({ outputEvent }) => outputEvent,
    ),
  );
const inPieces = (text: string, units: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / units) }, (_, index) => text.slice(index * units, (index + 1) * units));

const CASES: readonly {
  readonly prompt: string;
  readonly answer: string;
  readonly left: string;
  readonly why: string;
}[] = [
  { why: 'is left out before an answer', prompt: PROMPT, answer: `${PROMPT}\n\n4,392 metres.`, left: '4,392 metres.' },
  { why: 'is left out with a name', prompt: PROMPT, answer: `USER: ${PROMPT} 4,392 m`, left: '4,392 m' },
  { why: 'is left out with a quieter name', prompt: PROMPT, answer: `User:\n${PROMPT}\n4,392 m`, left: '4,392 m' },
  { why: 'may stand after blanks', prompt: ` ${PROMPT}\n`, answer: `\n ${PROMPT}\nHigh.`, left: 'High.' },
  {
    why: 'may have other blanks',
    prompt: 'Say  this:\n\n\tone two three',
    answer: 'Say this: one  two\nthree\nNo.',
    left: 'No.',
  },
  {
    why: 'may be written in other characters that are the same',
    prompt: 'Où est la bibliothèque\u0301 ?',
    answer: 'Ou\u0300 est la bibliothe\u0300que\u0301 ? Là.',
    left: 'Là.',
  },
  {
    why: 'may have no blanks',
    prompt: '雷尼尔山的高度是多少米请告诉我谢谢',
    answer: '雷尼尔山的高度是多少米请告诉我谢谢\n4392',
    left: '4392',
  },
  { why: 'stays when it is short', prompt: 'Hello', answer: 'Hello\nHow can I help?', left: 'Hello\nHow can I help?' },
  { why: 'stays when it is short, with a mark', prompt: 'Hello', answer: 'Hello! How?', left: 'Hello! How?' },
  {
    why: 'stays when it is short and takes many units',
    prompt: '👨‍👩‍👧‍👦'.repeat(15),
    answer: `${'👨‍👩‍👧‍👦'.repeat(15)} yes`,
    left: `${'👨‍👩‍👧‍👦'.repeat(15)} yes`,
  },
  { why: 'stays when nothing else is said', prompt: PROMPT, answer: PROMPT, left: PROMPT },
  { why: 'stays when only blanks follow', prompt: PROMPT, answer: `${PROMPT}\n\n`, left: `${PROMPT}\n\n` },
  {
    why: 'stays when it goes on in the same word',
    prompt: PROMPT,
    answer: `${PROMPT}! High.`,
    left: `${PROMPT}! High.`,
  },
  {
    why: 'stays when it is not whole',
    prompt: PROMPT,
    answer: `${PROMPT.slice(0, -1)}. High.`,
    left: `${PROMPT.slice(0, -1)}. High.`,
  },
  { why: 'stays after other words', prompt: PROMPT, answer: `Well: ${PROMPT}\nHigh.`, left: `Well: ${PROMPT}\nHigh.` },
  { why: 'is left out once', prompt: PROMPT, answer: `${PROMPT}\n${PROMPT}\nHigh.`, left: `${PROMPT}\nHigh.` },
];

describe('an echo of the prompt', (check) => {
  for (const { why, prompt, answer, left } of CASES) {
    check(why, async () => {
      for (const units of [1, 4, 1000])
        assert.is(await answered(prompt, ...inPieces(answer, units)), left, `by ${units}`);
    });
  }

  check('is looked for in every cut of the answer, and else every answer comes as it was said', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyParts, async (prompt, parts) => {
        const answer = parts.join('');
        const isEcho = answer.trimStart().normalize('NFC').startsWith(prompt.trim().normalize('NFC'));
        fc.pre(!isEcho || prompt.trim().length < 16);
        assert.is(await answered(prompt, ...parts), answer);
      }),
      { numRuns: 200 },
    );
    const answer = `${PROMPT}\nHigh.`;
    const cuts = fc
      .array(fc.nat(answer.length), { maxLength: 10 })
      .map((ends) => [0, ...ends, answer.length].sort((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(cuts, async (ends) => {
        const parts = ends.map((end, index) => answer.slice(ends[index - 1] ?? 0, end)).filter((part) => part !== '');
        assert.is(await answered(PROMPT, ...parts), 'High.');
      }),
    );
  });

  check('is looked for in the first text only, and all else passes in order', async () => {
    const steps = [
      thought(PROMPT),
      called('c1'),
      outputText(PROMPT),
      outputText('\nHigh.'),
      textEnd(),
      called('c2'),
      outputText(`${PROMPT}\nVery.`, 'b'),
      textEnd('b'),
      done,
    ];
    const collected = (await filtered(PROMPT, steps)).map(({ outputEvent }) => outputEvent);
    const expected = [thought(PROMPT), called('c1'), outputText('High.'), ...steps.slice(4)];
    assert.equal(joined(collected), expected);
  });

  check('stays when only another text follows', async () => {
    for (const between of [[textEnd()], []]) {
      const steps = [outputText(PROMPT), ...between, outputText('\nHigh.', 'b'), textEnd('b'), done];
      assert.equal(
        (await filtered(PROMPT, steps)).map(({ outputEvent }) => outputEvent),
        steps,
      );
    }
  });

  check('holds nothing that begins otherwise, not for a moment', async () => {
    const collected = await filtered(PROMPT, [
      outputText('What'),
      30,
      outputText(' a mountain!'),
      5000,
      outputText(' It'),
      done,
    ]);
    assert.equal(
      collected.map(({ atMs }) => atMs),
      [30, 30, 5030, 5030],
    );
  });

  check('holds nothing that follows it, were it long', async () => {
    const prompt = PROMPT.repeat(100);
    const collected = await filtered(prompt, [outputText(prompt), 10, outputText('\nHigh.'), 5000, done]);
    assert.equal(collected[0], { outputEvent: outputText('High.'), atMs: 10 });
  });

  check('is waited for no longer than a second', async () => {
    const collected = await filtered(PROMPT, [
      outputText('What is'),
      900,
      outputText(' the height'),
      900,
      outputText(' of'),
      done,
    ]);
    assert.equal(
      collected.map(({ atMs }) => atMs),
      [1000, 1000, 1800, 1800],
    );
  });

  check('holds no more than the prompt and a little', async () => {
    const collected = await filtered(PROMPT, [
      outputText(`${PROMPT}${' '.repeat(63)}`),
      10,
      outputText('  '),
      10,
      outputText('High.'),
      done,
    ]);
    assert.equal(
      collected.map(({ atMs }) => atMs),
      [10, 10, 20, 20],
    );
  });

  check('costs little, were it long and said letter by letter', async () => {
    const prompt = 'lorem ipsum '.repeat(4000);
    const startedAt = performance.now();
    assert.is(await answered(prompt, ...inPieces(`${prompt}High.`, 1)), 'High.');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 5000, `${tookMs} ms`);
  });

  check('ends its source, and every timer, when the reader leaves', async () => {
    for (const opening of ['What is', 'Well.', PROMPT]) {
      const clock = createFakeClock();
      const { source, ended } = silentAfter(outputText(opening));
      const outputEvents = withoutEcho(source, PROMPT, clock);
      const reading = outputEvents.next();
      await turn();
      const next = opening === 'Well.' ? outputEvents.next() : reading;
      await turn();
      await outputEvents.return();
      assert.is((await next).done, true);
      assert.is(ended.count, 1);
      assert.is(clock.pending(), 0);
    }
  });

  check('ends its source when the reader fails', async () => {
    const clock = createFakeClock();
    const { source, ended } = silentAfter(outputText('Well.'));
    const outputEvents = withoutEcho(source, PROMPT, clock);
    await outputEvents.next();
    await rejection(outputEvents.throw(new Error('full')));
    assert.is(ended.count, 1);
  });

  check('reports a source that fails, after what was held', async () => {
    const clock = createFakeClock();
    const broken = new Error('cut');
    const source = (async function* () {
      yield outputText('What is');
      throw broken;
    })();
    const collected: OutputEvent[] = [];
    const reading = (async () => {
      for await (const outputEvent of withoutEcho(source, PROMPT, clock)) collected.push(outputEvent);
    })();
    assert.is(await rejection(reading), broken);
    assert.equal(collected, [outputText('What is')]);
  });

  check('is left out before a pace is given, and leaving reaches the source through both', async () => {
    const clock = createFakeClock();
    const leaving = new AbortController();
    const { source, ended } = silentAfter(outputText(`${PROMPT}\nHigh.`));
    const pieces = pacedPieces(
      withoutEcho(source, PROMPT, clock),
      { clock, chunkSize: 4, delayMs: 10 },
      leaving.signal,
    );
    assert.equal((await pieces.next()).value, outputText('High'));
    const next = pieces.next();
    await turn();
    leaving.abort();
    assert.is((await next).done, true);
    assert.is(ended.count, 1);
    assert.is(clock.pending(), 0);
  });
});
