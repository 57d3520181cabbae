import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { filterLeadingEcho } from '../../../src/bridge/stream/echo-filter.ts';
import { paceOutput } from '../../../src/bridge/stream/pacing.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { anyParts, anyText } from '../harness/any-text.ts';
import {
  called,
  done,
  heardFrom,
  joined,
  type Step,
  said,
  saidAll,
  silentAfter,
  spoken,
  thought,
} from '../harness/scripted-log.ts';

const PROMPT = 'What is the height of Mount Rainier?';
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const filtered = async (prompt: string, steps: readonly Step[]) => {
  const clock = createFakeClock();
  const heard = await heardFrom(filterLeadingEcho(spoken(clock, steps), prompt, clock), clock);
  assert.is(clock.pending(), 0);
  return heard;
};
const textOf = (sayings: readonly OutputEvent[]): string =>
  sayings.map((saying) => (saying.kind === 'text' ? saying.text : '')).join('');
const answered = async (prompt: string, ...parts: readonly string[]): Promise<string> =>
  textOf((await filtered(prompt, [...parts.map((part) => said(part)), saidAll(), done])).map(({ saying }) => saying));
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
      said(PROMPT),
      said('\nHigh.'),
      saidAll(),
      called('c2'),
      said(`${PROMPT}\nVery.`, 'b'),
      saidAll('b'),
      done,
    ];
    const heard = (await filtered(PROMPT, steps)).map(({ saying }) => saying);
    const expected = [thought(PROMPT), called('c1'), said('High.'), ...steps.slice(4)];
    assert.equal(joined(heard), expected);
  });

  check('stays when only another text follows', async () => {
    for (const between of [[saidAll()], []]) {
      const steps = [said(PROMPT), ...between, said('\nHigh.', 'b'), saidAll('b'), done];
      assert.equal(
        (await filtered(PROMPT, steps)).map(({ saying }) => saying),
        steps,
      );
    }
  });

  check('holds nothing that begins otherwise, not for a moment', async () => {
    const heard = await filtered(PROMPT, [said('What'), 30, said(' a mountain!'), 5000, said(' It'), done]);
    assert.equal(
      heard.map(({ atMs }) => atMs),
      [30, 30, 5030, 5030],
    );
  });

  check('holds nothing that follows it, were it long', async () => {
    const prompt = PROMPT.repeat(100);
    const heard = await filtered(prompt, [said(prompt), 10, said('\nHigh.'), 5000, done]);
    assert.equal(heard[0], { saying: said('High.'), atMs: 10 });
  });

  check('is waited for no longer than a second', async () => {
    const heard = await filtered(PROMPT, [said('What is'), 900, said(' the height'), 900, said(' of'), done]);
    assert.equal(
      heard.map(({ atMs }) => atMs),
      [1000, 1000, 1800, 1800],
    );
  });

  check('holds no more than the prompt and a little', async () => {
    const heard = await filtered(PROMPT, [said(`${PROMPT}${' '.repeat(63)}`), 10, said('  '), 10, said('High.'), done]);
    assert.equal(
      heard.map(({ atMs }) => atMs),
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
      const { source, ended } = silentAfter(said(opening));
      const sayings = filterLeadingEcho(source, PROMPT, clock);
      const reading = sayings.next();
      await turn();
      const next = opening === 'Well.' ? sayings.next() : reading;
      await turn();
      await sayings.return();
      assert.is((await next).done, true);
      assert.is(ended.count, 1);
      assert.is(clock.pending(), 0);
    }
  });

  check('ends its source when the reader fails', async () => {
    const clock = createFakeClock();
    const { source, ended } = silentAfter(said('Well.'));
    const sayings = filterLeadingEcho(source, PROMPT, clock);
    await sayings.next();
    await rejection(sayings.throw(new Error('full')));
    assert.is(ended.count, 1);
  });

  check('tells of a source that fails, after what was held', async () => {
    const clock = createFakeClock();
    const broken = new Error('cut');
    const source = (async function* () {
      yield said('What is');
      throw broken;
    })();
    const heard: OutputEvent[] = [];
    const reading = (async () => {
      for await (const saying of filterLeadingEcho(source, PROMPT, clock)) heard.push(saying);
    })();
    assert.is(await rejection(reading), broken);
    assert.equal(heard, [said('What is')]);
  });

  check('is left out before a pace is given, and leaving reaches the source through both', async () => {
    const clock = createFakeClock();
    const leaving = new AbortController();
    const { source, ended } = silentAfter(said(`${PROMPT}\nHigh.`));
    const pieces = paceOutput(
      filterLeadingEcho(source, PROMPT, clock),
      { clock, chunkSize: 4, delayMs: 10 },
      leaving.signal,
    );
    assert.equal((await pieces.next()).value, said('High'));
    const next = pieces.next();
    await turn();
    leaving.abort();
    assert.is((await next).done, true);
    assert.is(ended.count, 1);
    assert.is(clock.pending(), 0);
  });
});
