import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { run, withGateway } from '../command.ts';
import { fileOf, moderationOf } from '../world.ts';

const CHROMIUM = '/usr/bin/chromium';
const MISSING = existsSync(CHROMIUM) ? undefined : 'Chromium at /usr/bin/chromium';
const SET = new URL('../../../eval.example.jsonl', import.meta.url);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Scores that depend on the text and are otherwise anything. */
const scoreOf = (text: string, salt: number): number => ((text.length * 7 + salt * 13) % 21) / 20;

describe('a report in Chromium', (check) => {
  const file = fileOf('data.jsonl', readFileSync(SET));
  const page = file.replace(/data\.jsonl$/, 'report.html');
  let browser: Promise<Browser> | undefined;
  const opened = async (width: number, scheme: 'light' | 'dark', isScripted = true) => {
    browser ??= chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    const context = await (await browser).newContext({
      viewport: { width, height: 800 },
      colorScheme: scheme,
      javaScriptEnabled: isScripted,
    });
    const tab = await context.newPage();
    const said: string[] = [];
    const asked: string[] = [];
    tab.on('console', (message) => said.push(message.text()));
    tab.on('pageerror', (error) => said.push(String(error)));
    tab.on('request', (request) => asked.push(request.url()));
    await tab.goto(pathToFileURL(page).href);
    return { tab, said, asked };
  };
  const overflow = (tab: Page): Promise<readonly string[]> =>
    tab.evaluate(() => [
      ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
      ...[...document.querySelectorAll('body *')]
        .filter((one) => one.closest('.scroll') === null && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML.slice(0, 80)),
    ]);
  /** Texts of a drawing that lie over each other, or leave it. */
  const collisions = (tab: Page): Promise<readonly string[]> =>
    tab.evaluate(() =>
      [...document.querySelectorAll('figure > svg')].flatMap((drawing) => {
        const frame = drawing.getBoundingClientRect();
        const texts = [...drawing.querySelectorAll('text')].map((text) => ({
          name: text.textContent,
          box: text.getBoundingClientRect(),
        }));
        return texts.flatMap(({ name, box }, index) => {
          const isOutside =
            box.left < frame.left || box.right > frame.right + 1 || box.top < frame.top || box.bottom > frame.bottom;
          const over = texts
            .slice(index + 1)
            .filter(
              (other) =>
                box.left < other.box.right &&
                other.box.left < box.right &&
                box.top < other.box.bottom - 3 &&
                other.box.top < box.bottom - 3,
            );
          return [...(isOutside ? [`${name} is outside`] : []), ...over.map((other) => `${name} over ${other.name}`)];
        });
      }),
    );

  check.needing(
    MISSING,
    'is written over the example set, with a run to compare and thresholds',
    withGateway(
      (text) => ({
        body: moderationOf({ harassment: scoreOf(text, 1), hate: scoreOf(text, 5), violence: scoreOf(text, 9) }),
      }),
      async ({ url }) => {
        const first = `${file}.first.jsonl`;
        assert.is((await run('--file', file, '--url', url, '--out', first)).code, 0);
        const { code, stderr } = await run(
          '--file',
          file,
          '--url',
          url,
          '--compare',
          first,
          '--report',
          page,
          '--suggest-thresholds',
          `${file}.policy.json`,
        );
        assert.is(code, 0, stderr);
      },
    ),
  );

  for (const [width, scheme] of [
    [1280, 'light'],
    [400, 'light'],
    [400, 'dark'],
  ] as const)
    check.needing(MISSING, `has no error, asks for nothing, and fits ${width} pixels (${scheme})`, async () => {
      const { tab, said, asked } = await opened(width, scheme);
      assert.equal(said, []);
      assert.equal(asked.length, 1);
      assert.equal(await overflow(tab), []);
      assert.equal(await collisions(tab), []);
      // Also with all numbers shown.
      await tab.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      assert.equal(await overflow(tab), []);
    });

  for (const scheme of ['light', 'dark'] as const)
    check.needing(MISSING, `can be read by everybody, as far as axe can tell (${scheme})`, async () => {
      const { tab } = await opened(1280, scheme);
      await tab.evaluate(AXE);
      const found = await tab.evaluate(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].html))',
      );
      assert.equal(found, []);
    });

  check.needing(MISSING, 'does not move while it loads, and is whole without scripts', async () => {
    const { tab } = await opened(1280, 'light', false);
    assert.is(await tab.locator('figure > svg[role=img]').count(), 14 * 4 + 2);
    assert.ok(((await tab.locator('figure > svg').first().boundingBox())?.height ?? 0) > 200);
  });

  check.needing(MISSING, 'prints in light colours, with no table cut off at the side', async () => {
    const { tab } = await opened(720, 'dark');
    await tab.emulateMedia({ media: 'print' });
    assert.is(await tab.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    assert.equal(await overflow(tab), []);
    assert.equal(
      await tab.evaluate(
        () =>
          [...document.querySelectorAll('table')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
            .length,
      ),
      0,
    );
    const printed = await tab.pdf({
      format: 'A4',
      margin: { top: '12mm', bottom: '12mm', left: '12mm', right: '12mm' },
    });
    assert.is(printed.subarray(0, 5).toString(), '%PDF-');
    assert.ok(printed.length > 50_000);
  });

  check('ends the browser', async () => {
    await (await browser)?.close();
  });
});
