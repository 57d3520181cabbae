import * as assert from 'uvu/assert';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import { createLongTexts } from '../../../src/agent/model/long-texts.ts';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { isRecord } from '../../../src/core/json.ts';
import { runAtOnce } from '../../../src/core/time-slices.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ADAPTERS, question, TOOLS, target } from '../harness/model-world.ts';

const textOf = (body: string | Blob): Promise<string> => new Blob([body]).text();

const NONCE = '0123456789abcdef0123456789abcdef';

/** The same request once with short texts and once with long ones, each of which begins with its short one. */
const requestWith = (textFor: (name: string) => string): ModelRequest =>
  question({
    system: textFor('system'),
    tools: TOOLS,
    messages: [
      {
        role: 'user',
        content: [
          { kind: 'text', text: textFor('user') },
          { kind: 'file', mime: 'image/png', url: `data:image/png;base64,${textFor('image')}` },
          {
            kind: 'file',
            mime: 'application/pdf',
            url: `data:application/pdf;base64,${textFor('pdf')}`,
            filename: 'a.pdf',
          },
          {
            kind: 'file',
            mime: 'text/plain',
            url: `data:text/plain,${encodeURIComponent(textFor('file'))}`,
            filename: 'a.txt',
          },
        ],
      },
      {
        role: 'assistant',
        text: textFor('answer'),
        calls: [
          { id: 'c1', name: 'time', input: {} },
          { id: 'c2', name: 'time', input: {} },
        ],
      },
      {
        role: 'tool',
        results: [
          { id: 'c1', name: 'time', output: textFor('output'), isError: false },
          { id: 'c2', name: 'time', output: textFor('error'), isError: true },
        ],
      },
      { role: 'user', content: [{ kind: 'text', text: textFor('again') }] },
    ],
  });
const NAMES = ['system', 'user', 'image', 'pdf', 'file', 'answer', 'output', 'error', 'again'];
const shortOf = (name: string): string => `QQ${name}QQ`.padEnd(16, 'Q');
const longOf = (name: string): string =>
  /image|pdf/.test(name)
    ? shortOf(name).padEnd(400_000, 'iVBO')
    : `${shortOf(name)}${'a "q" \\ \n\t\u0001 漢🙂'.repeat(20_000)}`;

/** What goes over the wire for a request. */
const bodyOf = async (npm: string, request: ModelRequest): Promise<unknown> => {
  let body: BodyInit | null | undefined;
  const model = createAiModel({
    clock: createFakeClock(),
    version: '1',
    fetcher: async (_url, init) => {
      body = init.body;
      throw new Error('no network');
    },
  });
  try {
    for await (const _ of model({ ...request, target: target({ npm }) }, new AbortController().signal)) break;
  } catch {
    // There is no answer.
  }
  return JSON.parse(await new Response(body ?? '').text());
};
/** The value with long texts where short ones stand. */
const lengthened = (value: unknown): unknown => {
  if (typeof value === 'string')
    return NAMES.reduce((text, name) => text.replace(shortOf(name), () => longOf(name)), value);
  if (Array.isArray(value)) return value.map(lengthened);
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, lengthened(item)]))
    : value;
};

describe('long texts of a request', (check) => {
  for (const npm of ADAPTERS)
    check(`stand in its body where short ones would, whatever is in them (${npm})`, async () => {
      const expected = lengthened(await bodyOf(npm, requestWith(shortOf)));
      assert.ok(NAMES.every((name) => JSON.stringify(expected).includes(shortOf(name))));
      assert.equal(await bodyOf(npm, requestWith(longOf)), expected);
    });

  check('keep characters of two halves whole, wherever they are cut, and lone halves as JSON has them', async () => {
    for (const before of ['', 'x']) {
      const text = `${before}${'🙂'.repeat(300_000)}\ud83d`;
      const { shorten, complete } = createLongTexts(NONCE, new WeakMap());
      const body = await textOf(runAtOnce(complete(JSON.stringify({ text: shorten(text) }))));
      assert.is(body, JSON.stringify({ text }));
    }
  });

  check('are written in steps of at most 256 Ki characters', () => {
    const { shorten, complete } = createLongTexts(NONCE, new WeakMap());
    const steps = complete(JSON.stringify([shorten('x'.repeat(5 * 1024 * 1024))]));
    let count = 0;
    while (!steps.next().done) count += 1;
    assert.ok(count >= 20, `${count} steps`);
  });

  check('of what is sent again are not written again', async () => {
    const written = new WeakMap<object, Blob>();
    const holders = [{ text: `"${'x'.repeat(600_000)}` }, { text: 'y'.repeat(2000) }];
    const send = async () => {
      const { shorten, complete } = createLongTexts(NONCE, written);
      const steps = complete(JSON.stringify(holders.map((holder) => shorten(holder.text, holder))));
      for (let count = 0; ; count += 1) {
        const step = steps.next();
        if (step.done) return { count, texts: JSON.parse(await textOf(step.value)) };
      }
    };
    const texts = holders.map(({ text }) => text);
    assert.equal(await send(), { count: 4, texts });
    assert.equal(await send(), { count: 0, texts });
    holders[1] = { text: 'z'.repeat(3000) };
    assert.equal(await send(), { count: 1, texts: [texts[0], 'z'.repeat(3000)] });
  });

  check('leave short texts alone, and texts that look like placeholders of others', async () => {
    const { shorten, complete } = createLongTexts(NONCE, new WeakMap());
    const other = createLongTexts(NONCE.replaceAll('0', 'f'), new WeakMap()).shorten('x'.repeat(2000));
    const body = JSON.stringify([shorten('short'), other, shorten('y'.repeat(2000))]);
    assert.equal(JSON.parse(await textOf(runAtOnce(complete(body)))), ['short', other, 'y'.repeat(2000)]);
  });
});
