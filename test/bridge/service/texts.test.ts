import * as assert from 'uvu/assert';
import type { ModelEvent } from '../../../src/agent/model/types.ts';
import type { Script } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { answering, dictated, lastTextTo } from '../harness/model-scripts.ts';
import { contentIn, dataIn, quietTime, user, withBridge } from '../harness/world.ts';

const TEXTS: Readonly<Record<string, string>> = {
  plain: 'The quick brown fox jumps over the lazy dog.',
  families: 'a 👨‍👩‍👧‍👦b👩🏽‍💻c👍🏿 d❤️‍🔥e👨‍👩‍👧‍👦👩‍👩‍👦',
  flags: '🇫🇷🇩🇪 then 🇯🇵🏴󠁧󠁢󠁳󠁣󠁴󠁿🏳️‍🌈🇺🇳',
  thai: 'สวัสดีชาวโลก กำลังทดสอบ น้ำใจ',
  hangul: '안녕하세요 각 하나',
  lines: 'one\r\ntwo\r\n\r\nthree\nfour\rfive\r\n',
  marks: 'क्षि é Å नि ๏̣̇',
  zalgo: `Z${'\u0316\u0317\u0360\u0301'.repeat(80)}algo`,
  surrogates: 'high \ud83d then low \ude00 and both \ud83d\ude00 end \ud83d',
  blanks: '   \n\n  indented\t\ttabs   \n',
};
const NAMES = Object.keys(TEXTS);

const DONE: ModelEvent = {
  kind: 'finished',
  finish: 'stop',
  tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 },
};

/** Says each text in deltas of three units, which cut characters and graphemes alike. */
const inCrumbsEvery = (pauseMs: number): Script =>
  async function* (request) {
    const text = TEXTS[lastTextTo(request)] ?? '';
    for (let at = 0; at < text.length; at += 3) {
      yield { kind: 'text', delta: text.slice(at, at + 3) };
      if (pauseMs > 0) await quietTime(pauseMs);
    }
    yield DONE;
  };
const inCrumbs = inCrumbsEvery(0);

const isSplitPair = (piece: string, next: string): boolean =>
  /[\ud800-\udbff]$/.test(piece) && /^[\udc00-\udfff]/.test(next);
const boundaries = (text: string): ReadonlySet<number> =>
  new Set([...new Intl.Segmenter('und').segment(text)].map(({ index }) => index));

const PACES = [0, 1, 4, 64].flatMap((chunkSize) => [0, 10].map((chunkDelayMs) => ({ chunkSize, chunkDelayMs })));

describe('the pieces of a streamed answer', (check) => {
  for (const settings of PACES) {
    const pace = `${settings.chunkSize} graphemes every ${settings.chunkDelayMs} ms`;
    check(`add up to what the agent says, with ${pace}`, () =>
      withBridge({ settings, scripts: [inCrumbs] }, async (world) => {
        const reported = async (name: string) => {
          const data = await world.chunks({ messages: [user(name)] });
          assert.is(data.at(-1), '[DONE]');
          const pieces = data.map(contentIn).filter((piece) => piece !== '');
          const wanted = TEXTS[name] ?? '';
          assert.is(pieces.join(''), wanted, name);
          if (settings.chunkSize === 0 || name === 'zalgo') return;
          const mayEnd = boundaries(wanted);
          let at = 0;
          for (const [index, piece] of pieces.entries()) {
            assert.not.ok(isSplitPair(piece, pieces[index + 1] ?? ''), `${name}: half a character`);
            assert.ok(mayEnd.has(at), `${name}: a grapheme is torn before ${JSON.stringify(piece)}`);
            at += piece.length;
          }
        };
        await Promise.all(NAMES.map(reported));
      }),
    );
  }

  check('add up when a text comes crumb by crumb, each long after the other', () =>
    withBridge({ settings: { chunkSize: 1, chunkDelayMs: 10 }, scripts: [inCrumbsEvery(30)] }, async (world) => {
      const reported = async (name: string) => {
        const data = await world.chunks({ messages: [user(name)] });
        assert.is(data.map(contentIn).join(''), TEXTS[name], name);
      };
      await Promise.all(NAMES.filter((name) => name !== 'zalgo').map(reported));
    }),
  );

  check('add up in a response too, to the text that its end repeats', () =>
    withBridge({ settings: { chunkSize: 1, chunkDelayMs: 0 }, scripts: [inCrumbs] }, async (world) => {
      const reported = async (name: string) => {
        const response = await world.send('/v1/responses', { input: name, stream: true });
        const data = dataIn(await response.text());
        assert.is(data.map(contentIn).join(''), TEXTS[name], name);
        const last = JSON.parse(data.at(-1) ?? '') as {
          type: string;
          response: { output: { content: { text: string }[] }[] };
        };
        assert.is(last.type, 'response.completed');
        assert.is(last.response.output[0]?.content[0]?.text, TEXTS[name]);
      };
      await Promise.all(NAMES.map(reported));
    }),
  );

  check('are the whole answer that is not streamed', () =>
    withBridge({ scripts: [inCrumbs] }, async (world) => {
      const reported = async (name: string) => {
        assert.is((await world.chat({ messages: [user(name)] })).text, TEXTS[name]);
      };
      await Promise.all(NAMES.map(reported));
    }),
  );
});

const LETTERS = 'Lorem ipsum dolor sit amet 👩🏽‍💻 consectetur, '.repeat(2500).slice(0, 100_000);

describe('a long answer', (check) => {
  for (const [how, chars] of [
    ['in one piece', LETTERS.length],
    ['word by word', 12],
  ] as const)
    check(`of 100 kB that the agent has said ${how} is out within a second of its end`, () => {
      const model = dictated();
      const settings = { chunkSize: 4, chunkDelayMs: 10 };
      return withBridge({ settings, scripts: [model.script] }, async (world) => {
        const answered = world.chunks({ messages: [user('go')] });
        await model.begun;
        for (let at = 0; at < LETTERS.length; at += chars) model.addReply(LETTERS.slice(at, at + chars));
        model.end();
        // A busy machine keeps this timer waiting as it does the bridge's.
        let turns = 0;
        let turnsLate = 0;
        const timer = setInterval(() => {
          turns += 1;
          if (world.readings().answersRunning === 0) turnsLate += 1;
        }, settings.chunkDelayMs);
        const data = await answered;
        clearInterval(timer);
        assert.is(data.map(contentIn).join(''), LETTERS);
        assert.ok(turnsLate * settings.chunkDelayMs < 1000, `${turnsLate} turns of the timer`);
        assert.ok(data.length > Math.min(50, 0.8 * turns), `only ${data.length} pieces in ${turns} turns of the timer`);
      });
    });

  check('without a pause goes out as fast as it is read', () =>
    withBridge({ settings: { chunkSize: 4, chunkDelayMs: 0 }, scripts: [answering(() => LETTERS)] }, async (world) => {
      const startedAt = performance.now();
      const data = await world.chunks({ messages: [user('go')] });
      assert.is(data.map(contentIn).join(''), LETTERS);
      assert.ok(performance.now() - startedAt < 2000);
    }),
  );
});
